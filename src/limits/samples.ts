import type { ObjectId } from '../provider/read.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { loadPollState } from './poll-state-text.ts'
import { type Fetched, isFailure, keyOf, type Readings } from './readings.ts'
import { metricKind } from './reports/all-reports.ts'
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

export interface ReportSamples {
  /** Moment of the reading, ms. */
  at: number
  atLimit: SampleRecord[]
  nearLimit: SampleRecord[]
}

export interface SampleRecord {
  objectId: ObjectId
  /** Text from outside: clean and escape it wherever it is shown. Absent where labels are not kept. */
  label?: string
  /** Absent for a record that is at its limit: the provider then gives no number. */
  usage?: number
}

/** Records that explain a series, as far as they are shown. */
export interface SeriesRecords {
  total: number
  items: SampleRecord[]
}

/**
 * The records that are kept from now on: the new ones; where a call failed the old ones for their time; none of pairs not
 * watched. This is where reports become samples, so nothing beyond it knows more than the setting allows.
 */
export function mergeSamples(before: Samples, fetched: Fetched, { records, keepMs }: SampleSettings): Samples {
  const { at } = fetched
  const samples: Samples = {}
  for (const [key, report] of fetched.reports) {
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

/** Records that are named with a series: in an alert, on a page. */
export interface ShownRecords extends SeriesRecords {
  shown: number
}

const MOST_SHOWN = 10

export function shownRecords(series: Series, readings: Readings, samples: Samples): ShownRecords {
  const { total, items } = recordsOf(series, readings, samples)
  const shown = items.slice(0, MOST_SHOWN)
  return { shown: shown.length, total, items: shown }
}

/** The records behind a series, the fullest first; only those of a pair have any. */
export function recordsOf(series: Series, readings: Readings, samples: Samples): SeriesRecords {
  const key = keyOf(series)
  const values = readings[key]?.values ?? []
  const { atLimit = [], nearLimit = [] } = samples[key] ?? {}
  const near = nearLimit.toSorted((a, b) => (b.usage ?? 0) - (a.usage ?? 0))
  const total = (counts: 'full' | 'near') =>
    values.reduce((sum, { metric, usage }) => sum + (metricKind(metric)?.counts === counts ? usage : 0), 0)
  switch (metricKind(series.metric)?.counts) {
    case 'full':
      return { total: total('full'), items: atLimit }
    case 'near':
      return { total: total('near'), items: near }
    default:
      return { total: total('full') + total('near'), items: [...atLimit, ...near] }
  }
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
