import { packPoll } from '../../src/limits/findings.ts'
import { changeBetween } from '../../src/limits/history/change.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { type Fetched, mergeReadings, type Readings } from '../../src/limits/readings.ts'
import { mergeSamples, type Samples } from '../../src/limits/samples.ts'
import type { AssociationReport, CustomPropertyReport } from '../../src/provider/answers.ts'
import type { ProviderFailure } from '../../src/provider/failure.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'

export function properties(
  usage: number,
  limit = 1_000,
  types: Record<string, [number, number]> = {},
): CustomPropertyReport {
  return {
    overallLimit: limit,
    overallUsage: usage,
    reportedPercentage: 0,
    byObjectType: Object.entries(types).map(([objectTypeId, [used, allowed]]) => ({
      objectTypeId,
      singularLabel: 'Thing',
      pluralLabel: `Things of ${objectTypeId}`,
      limit: allowed,
      usage: used,
      reportedPercentage: 0,
    })),
  }
}

export function associations(
  limit: number,
  near: number[] = [],
  atLimit = 0,
  totals: Partial<AssociationReport> = {},
): AssociationReport {
  return {
    limit,
    totalRecordsAtLimit: atLimit,
    totalRecordsNearLimit: near.length,
    atLimit: Array.from({ length: atLimit }, (_, n) => ({ label: `full ${n}`, objectId: 100 + n })),
    nearLimit: near.map((usage, n) => ({ label: `near ${n}`, objectId: 200 + n, usage, reportedPercentage: 0 })),
    ...totals,
  }
}

/** What a poll that read these reports leaves as last numbers. */
export function readings(
  at: number,
  report: CustomPropertyReport | undefined,
  pairs: Record<string, AssociationReport> = {},
): Readings {
  return mergeReadings(undefined, fetched(at, report, pairs))
}

/** What it leaves as last records. */
export function samples(at: number, pairs: Record<string, AssociationReport>): Samples {
  return mergeSamples({}, fetched(at, undefined, pairs), { records: 'full', keepMs: 1_000 })
}

const NOT_READ: ProviderFailure = { class: 'transient', code: '503', message: 'not read', status: 503 }

export function fetched(
  at: number,
  report: CustomPropertyReport | undefined,
  pairs: Record<string, AssociationReport | ProviderFailure> = {},
): Fetched {
  return { at, customProperties: report ?? NOT_READ, associations: new Map(Object.entries(pairs)) }
}

/** One poll that read this, committed as the job does it. After `gapMs` without a reading there is a gap. */
export async function pollAccount(
  store: Store,
  keys: Keys,
  hubId: number,
  at: number,
  readings: Readings,
  gapMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const polls = new PollStore(store, keys)
  const context = await polls.read(hubId)
  if (context === undefined) throw new Error(`account ${hubId} is not polled`)
  const committed = await polls.commit(hubId, {
    ...{ polls: context.polls, nextAt: at + 900_000, fields: { polledAt: String(at) } },
    ...packPoll(readings, changeBetween(context.readings, readings, at, gapMs)),
    alerts: NO_ALERT_WRITES,
  })
  if (committed !== 'committed') throw new Error(`the poll of account ${hubId} is ${committed}`)
}
