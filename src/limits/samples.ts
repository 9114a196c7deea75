import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib'
import type { ObjectId } from '../provider/read.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { asCount, asItems, asText, pack, readKey, UnreadableBytes, unpack } from './history/packed-bytes.ts'
import { type Fetched, isFailure, keyOf, type Readings } from './readings.ts'
import { metricKind } from './reports/all-reports.ts'
import type { Series } from './series.ts'
import { readWatch } from './watch/read-watch.ts'

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

  /**
   * Empty for an account that was shown none, or none for too long.
   *
   * @throws UnreadableKey
   */
  async read(hubId: number): Promise<Samples> {
    const { samples } = this.#keys.account(hubId)
    const [stored, kept] = await Promise.all([
      unlessOfOtherType(this.#store.getBuffer(samples), Buffer.alloc(0)),
      readWatch(this.#store, this.#keys, hubId),
    ])
    if (stored === null) return {}
    const readAt = kept === 'unreadable' ? undefined : kept?.watch.records?.readAt
    const hint = 'Delete it: the next poll reads the records again.'
    // Samples of an account that is not polled any more may be older than the setting.
    return allowedSamples(
      readKey(hubId, samples, hint, () => decodeSamples(stored, readAt)),
      this.settings.records,
    )
  }
}

const SAMPLES_VERSION = 4
/** Far more than the records of an account can be: what is larger was not written here. */
const MOST_BYTES = 16 * 1024 * 1024
/** A ms of work, only where a poll found other records. Quality 11 takes twice that and makes nothing smaller of so little. */
const BROTLI = {
  [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  [constants.BROTLI_PARAM_QUALITY]: 10,
  [constants.BROTLI_PARAM_LGWIN]: 14,
}

/**
 * Moments as those of readings. The records are columns - all ids, all labels, all usages, in the order of the reports - because what is
 * alike is compressed best side by side: `[[key, age, how many at the limit, how many near it], ...]`, then these.
 */
export function encodeSamples(samples: Samples): Buffer {
  const reports = Object.entries(samples)
  const last = reports.reduce((latest, [, { at }]) => Math.max(latest, at), 0)
  const heads = reports.map(([key, { at, atLimit, nearLimit }]) => [key, last - at, atLimit.length, nearLimit.length])
  const records = reports.flatMap(([, { atLimit, nearLimit }]) => [...atLimit, ...nearLimit])
  const ids = records.map(({ objectId }) => objectId)
  const labels = records.map(({ label = null }) => label)
  const usages = records.map(({ usage = null }) => usage)
  const text = Buffer.from(JSON.stringify([heads, ids, labels, usages]))
  return pack(last, brotliCompressSync(text, { params: BROTLI }), SAMPLES_VERSION)
}

/**
 * @param readAt when they were last read, ms: moments move with it
 * @throws UnreadableBytes
 */
export function decodeSamples(stored: Buffer, readAt?: number): Samples {
  const { at, value } = unpackColumns(stored)
  const last = readAt ?? at
  const reports = asItems(value).map((one): [string, ReportSamples] => {
    const [key, age, atLimit, nearLimit] = asItems(one)
    return [asText(key), { at: last - asCount(age), atLimit: readRecords(atLimit), nearLimit: readRecords(nearLimit) }]
  })
  return Object.fromEntries(reports)
}

/** Each report with its records. */
function unpackColumns(stored: Buffer): { at: number; value: unknown } {
  const { at, value } = unpack(stored, SAMPLES_VERSION)
  const [heads, ids, labels, usages] = asItems(decompressed(value)).map(asItems)
  if (heads === undefined || ids === undefined || labels?.length !== ids.length || usages?.length !== ids.length)
    throw new UnreadableBytes('its columns are not of one length')
  const rows = ids.map((id, n) => [id, labels[n], usages[n]])
  const reports = heads.map((head) => {
    const [key, age, ...counts] = asItems(head)
    return [key, age, ...counts.map((count) => rows.splice(0, asCount(count)))]
  })
  return { at, value: reports }
}

function decompressed(value: unknown): unknown {
  if (!(value instanceof Uint8Array)) throw new UnreadableBytes('it has no compressed records')
  try {
    return JSON.parse(brotliDecompressSync(value, { maxOutputLength: MOST_BYTES }).toString())
  } catch (error) {
    throw new UnreadableBytes(error instanceof Error ? error.message : String(error))
  }
}

function readRecords(records: unknown): SampleRecord[] {
  return asItems(records).map((record) => {
    const [objectId, label, usage] = asItems(record)
    return {
      objectId: typeof objectId === 'string' ? objectId : asCount(objectId),
      ...(label === null ? {} : { label: asText(label) }),
      ...(usage === null ? {} : { usage: asCount(usage) }),
    }
  })
}
