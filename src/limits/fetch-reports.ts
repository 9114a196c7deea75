import type { ProviderClient } from '../provider/client.ts'
import type { ProviderResult } from '../provider/failure.ts'
import type { Clock } from '../runtime/clock.ts'
import type { InFlight } from '../runtime/in-flight.ts'
import type { Secret } from '../runtime/secret.ts'
import type { CallShare } from './call-share.ts'
import { type Fetched, isFailure, type Pair, pairId } from './readings.ts'

export interface FetchDeps {
  provider: ProviderClient
  share: CallShare
  inFlight: InFlight
  clock: Clock
}

/** Both limits endpoints (interface 4.5, 4.6) for one account, within its share; undefined if `signal` came first. */
export async function fetchReports(
  deps: FetchDeps,
  hubId: number,
  accessToken: Secret,
  pairs: readonly Pair[],
  signal: AbortSignal,
): Promise<Fetched | undefined> {
  if (!(await deps.share.take(hubId, 1 + pairs.length, signal))) return undefined
  const at = deps.clock.now()
  const call = async <T extends object>(work: () => Promise<ProviderResult<T>>) => {
    const result = await deps.inFlight.run('normal', work)
    return result.ok ? result.value : result.failure
  }
  const [customProperties, associations] = await Promise.all([
    call(() => deps.provider.customProperties(accessToken)),
    Promise.all(
      pairs.map(async (pair) => {
        const report = await call(() => deps.provider.associations(accessToken, pair.from, pair.to))
        return [pairId(pair), report] as const
      }),
    ),
  ])
  return { at, customProperties, associations: new Map(associations) }
}

/** Whether the access token was not accepted: worth one refresh and one more try. */
export function wasUnauthorized(fetched: Fetched): boolean {
  const reports = [fetched.customProperties, ...fetched.associations.values()]
  return reports.some((report) => isFailure(report) && report.class === 'unauthorized')
}
