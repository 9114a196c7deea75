import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { loadPollState } from './poll-state-text.ts'
import { isFailure, keyOf, type Readings, type Reports } from './readings.ts'
import { metricKind } from './reports/all-reports.ts'
import type { RecordSamples, SampleRecord } from './reports/report.ts'
import type { Series } from './series.ts'

/**
 * How much is kept and shown of the records behind an association limit. `full`: id, usage and label, which is a
 * customer's personal data; `ids`: no label; `none`: no record at all, only the counts.
 */
export const RECORD_CHOICES = ['full', 'ids', 'none'] as const
export type RecordChoice = (typeof RECORD_CHOICES)[number]

export interface SampleSettings {
  records: RecordChoice
  /** How long the records of a pair are kept after they were last read, ms. */
  keepMs: number
}

/** Records behind an account's series as last shown, by the key of their report. */
export type Samples = Record<string, ReportSamples>

export interface ReportSamples extends RecordSamples {
  /** Moment of the reading, ms. */
  at: number
}

/** Records that explain a series, the fullest first. */
export interface ShownRecords {
  shown: number
  total: number
  items: SampleRecord[]
}

/**
 * The records that are kept from now on: the new ones; where a call failed the old ones for their time; none of pairs not
 * watched. This is where reports become samples, so nothing beyond it knows more than the setting allows.
 */
export function mergeSamples(
  before: Samples,
  { at, reports }: { at: number; reports: Reports },
  { records, keepMs }: SampleSettings,
): Samples {
  const samples: Samples = {}
  for (const [key, report] of reports) {
    const shown = isFailure(report) ? before[key] : report.records && { at, ...report.records }
    if (shown !== undefined && shown.at > at - keepMs) samples[key] = shown
  }
  return allowedSamples(samples, records)
}

/** The samples as far as the setting lets them be kept and shown. */
function allowedSamples(samples: Samples, records: RecordChoice): Samples {
  if (records === 'none') return {}
  const allowedReport = ({ at, atLimit, nearLimit }: ReportSamples): ReportSamples => ({
    at,
    atLimit: atLimit.map((record) => allowed(record, records)),
    nearLimit: nearLimit.map((record) => allowed(record, records)),
  })
  return Object.fromEntries(Object.entries(samples).map(([key, shown]) => [key, allowedReport(shown)]))
}

function allowed({ objectId, label, usage }: SampleRecord, records: 'full' | 'ids'): SampleRecord {
  return {
    objectId,
    ...(records === 'full' && label !== undefined ? { label } : {}),
    ...(usage === undefined ? {} : { usage }),
  }
}

const MOST_SHOWN = 10

/** The records behind a series; only those of a pair have any. */
export function shownRecords(series: Series, readings: Readings, samples: Samples): ShownRecords {
  const key = keyOf(series)
  const { atLimit = [], nearLimit = [] } = samples[key] ?? {}
  const records = { full: atLimit, near: nearLimit.toSorted((a, b) => (b.usage ?? 0) - (a.usage ?? 0)) }
  const counted = metricKind(series.metric)?.counts
  const kinds = counted === undefined ? (['full', 'near'] as const) : [counted]
  let total = 0
  for (const { metric, usage } of readings[key]?.values ?? []) {
    if (kinds.some((kind) => kind === metricKind(metric)?.counts)) total += usage
  }
  const items = kinds.flatMap((kind) => records[kind]).slice(0, MOST_SHOWN)
  return { shown: items.length, total, items }
}

/** The records behind accounts' last numbers, as far as the settings allow. */
export class SampleStore {
  readonly settings: SampleSettings
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys, settings: SampleSettings) {
    this.settings = settings
    this.#store = store
    this.#keys = keys
  }

  /** Empty for an account that was shown none, or none for too long. */
  async read(hubId: number): Promise<Samples> {
    const { samples } = this.#keys.account(hubId)
    const [stored, kept] = await Promise.all([
      this.#store.getBuffer(samples),
      loadPollState(this.#store, this.#keys, hubId),
    ])
    if (stored === null) return {}
    const readAt = kept?.records === undefined ? undefined : kept.polledAt - kept.records.age
    // Samples of an account that is not polled any more may be older than the setting.
    return allowedSamples(decodeSamples(stored, readAt), this.settings.records)
  }
}

export function encodeSamples(samples: Samples): string {
  return JSON.stringify(samples)
}

/**
 * None for what can't be read: the next poll that sees others writes them over it.
 *
 * @param readAt when they were last read, ms: a poll that finds them as they were does not write them again
 */
export function decodeSamples(stored: Buffer, readAt?: number): Samples {
  try {
    const reports = Object.entries(JSON.parse(stored.toString()) as Samples)
    const last = Math.max(...reports.map(([, { at }]) => at))
    const later = readAt === undefined ? 0 : readAt - last
    return Object.fromEntries(reports.map(([key, report]) => [key, { ...report, at: report.at + later }]))
  } catch {
    return {}
  }
}
