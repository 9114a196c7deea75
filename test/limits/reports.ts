import { changeBetween } from '../../src/limits/history/change.ts'
import type { PollState } from '../../src/limits/poll-state.ts'
import { NEW_POLL_STATE } from '../../src/limits/poll-state-text.ts'
import { isFailure, mergeReadings, type Readings, type Reports, reportOfKey } from '../../src/limits/readings.ts'
import type { ReadReport } from '../../src/limits/reports/report.ts'
import { mergeSamples, type Samples } from '../../src/limits/samples.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import type { ProviderFailure } from '../../src/provider/failure.ts'
import { parseJson } from '../../src/provider/read.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { commitPoll } from '../support/committed-poll.ts'

/** Bodies of answers, as the provider sends them. */
export function properties(usage: number, limit = 1_000, types: Record<string, [number, number]> = {}): PropertiesBody {
  return {
    overallLimit: limit,
    overallUsage: usage,
    overallPercentage: 0,
    byObjectType: Object.entries(types).map(([objectTypeId, [used, allowed]]) => ({
      objectTypeId,
      singularLabel: 'Thing',
      pluralLabel: `Things of ${objectTypeId}`,
      limit: allowed,
      usage: used,
      percentage: 0,
    })),
  }
}

interface PropertiesBody {
  overallLimit: number
  overallUsage: number
  overallPercentage: number
  byObjectType: (Record<'objectTypeId' | 'singularLabel' | 'pluralLabel', string> &
    Record<'limit' | 'usage' | 'percentage', number>)[]
}

export function associations(
  limit: number,
  near: number[] = [],
  atLimit = 0,
  totals: Partial<AssociationsBody> = {},
): AssociationsBody {
  return {
    limit,
    totalRecordsAtLimit: atLimit,
    totalRecordsNearLimit: near.length,
    atLimitFromRecordSamples: Array.from({ length: atLimit }, (_, n) => ({ label: `full ${n}`, objectId: 100 + n })),
    nearLimitFromRecordSamples: near.map((usage, n) => ({
      label: `near ${n}`,
      objectId: 200 + n,
      usage,
      percentage: 0,
    })),
    ...totals,
  }
}

export interface AssociationsBody {
  limit: number
  totalRecordsAtLimit: number
  totalRecordsNearLimit: number
  atLimitFromRecordSamples: { label?: string; objectId: number | string }[]
  nearLimitFromRecordSamples: { label?: string; objectId: number | string; usage: number; percentage?: number }[]
}

/** What is read in such a body, by its key: `customProperties`, `associations/0-1/0-2`. */
export function readBody(key: string, body: object): ReadReport {
  const { report, pair } = reportOfKey(key) ?? {}
  if (report === undefined || pair === undefined) throw new Error(`no report ${key}`)
  return report.read(parseJson(Buffer.from(JSON.stringify(body))), pair)
}

/** What a poll that read these reports leaves as last numbers. */
export function readings(at: number, report: object | undefined, pairs: Record<string, object> = {}): Readings {
  return mergeReadings(undefined, fetched(at, report, pairs))
}

/** What polls know of an account that was polled at `at`. */
export function polledState(at: number, readings: Readings | undefined, more: Partial<PollState> = {}): PollState {
  const kept = readings === undefined ? StoredReadings.none : StoredReadings.of(readings, at)
  return { ...NEW_POLL_STATE, isInterrupted: false, polledAt: at, readings: kept, ...more }
}

/** What it leaves as last records. */
export function samples(at: number, pairs: Record<string, object>): Samples {
  return mergeSamples({}, fetched(at, undefined, pairs), { records: 'full', keepMs: 1_000 })
}

const NOT_READ: ProviderFailure = { class: 'transient', code: '503', message: 'not read', status: 503 }

/** The reports of a poll at a moment. */
export interface Fetched {
  at: number
  reports: Reports
}

/** By pair what was heard of it; undefined, and failures: it could not be read. */
export function fetched(
  at: number,
  report: object | undefined,
  pairs: Record<string, object | ProviderFailure> = {},
): Fetched {
  const reports = [
    ['customProperties', report ?? NOT_READ] as const,
    ...Object.entries(pairs).map(([pair, one]) => [`associations/${pair}`, one] as const),
  ]
  return { at, reports: new Map(reports.map(([key, one]) => [key, isFailure(one) ? one : readBody(key, one)])) }
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
  const committed = await commitPoll(store, keys, hubId, at, ({ state }) => {
    const change = changeBetween(state.readings.all, readings, at, gapMs)
    return { state: { readings: StoredReadings.of(readings, at) }, more: { alerts: NO_ALERT_WRITES, change } }
  })
  if (committed !== 'committed') throw new Error(`the poll of account ${hubId} is ${committed}`)
}

/** The associations that were read, by pair. */
export function pairReports<T>(reports: Iterable<readonly [string, T]>): Map<string, T> {
  const found = [...reports].filter(([key]) => key.startsWith('associations/'))
  return new Map(found.map(([key, report]) => [key.slice('associations/'.length), report]))
}

/** The numbers of the pairs of an account, by pair. */
export function pairNumbers(readings: Readings): Record<string, Record<string, number>> {
  return Object.fromEntries(
    [...pairReports(Object.entries(readings))].map(([pair, { at, values }]) => {
      const usageOf = (metric: string) => values.find((one) => one.metric === `associations.${metric}`)
      const { usage: fullest = -1, limit = -1 } = usageOf('fullest') ?? {}
      const [atLimit, nearLimit] = [usageOf('atLimit')?.usage ?? -1, usageOf('nearLimit')?.usage ?? -1]
      return [pair, { at, limit, atLimit, nearLimit, fullest }]
    }),
  )
}
