import type { Pair } from '../../src/limits/pair.ts'
import { REPORTS } from '../../src/limits/reports/all-reports.ts'
import { ASSOCIATION_SOURCES, associationTargets } from '../../src/limits/reports/companions.ts'
import type { ReadReport } from '../../src/limits/reports/report.ts'
import type { LimitsCall, ProviderClient } from '../../src/provider/client.ts'
import type { CrmResult } from '../../src/provider/failure.ts'
import { parseJson } from '../../src/provider/read.ts'
import type { Secret } from '../../src/runtime/secret.ts'

/** The name and arguments of a call of the limits endpoints, from its path below their base. */
export function namedCall(path: string): [name: string, ...args: string[]] {
  const [what = '', records, from, to] = path.slice(1).split('/')
  if (what !== 'associations' || records !== 'records') {
    return [REPORTS.find((report) => report.perPair === undefined && report.path(NO_PAIR) === path)?.name ?? path]
  }
  if (from === 'from' && to === undefined) return ['associationSources']
  const first = decodeURIComponent(from ?? '')
  return to === 'to' ? ['associationTargets', first] : ['associations', first, decodeURIComponent(to ?? '')]
}

const NO_PAIR: Pair = { from: '', to: '' }

/** The call of one report, its answer read at once. */
function reportCall(name: string, pair = NO_PAIR): LimitsCall<ReadReport> {
  const report = REPORTS.find((one) => one.name === name)
  if (report === undefined) throw new Error(`no report ${name}`)
  return { endpoint: name, path: report.path(pair), read: (body) => report.read(parseJson(body), pair) }
}

export type ReadingMethods = ReturnType<typeof readingClient>

/** The two first reports and the companions of a client, each as a method of its own. */
export function readingClient(client: Pick<ProviderClient, 'limits'>) {
  return {
    associations: (token: Secret, from: string, to: string): Promise<CrmResult<ReadReport>> =>
      client.limits(token, reportCall('associations', { from, to })),
    customProperties: (token: Secret): Promise<CrmResult<ReadReport>> =>
      client.limits(token, reportCall('customProperties')),
    associationSources: (token: Secret) => client.limits(token, ASSOCIATION_SOURCES),
    associationTargets: (token: Secret, from: string) => client.limits(token, associationTargets(from)),
  }
}
