import { type Pair, pairOf } from './pair.ts'
import { type Reading, type Readings, reportOfKey } from './readings.ts'
import { metricKind, metricsOf } from './reports/all-reports.ts'
import type { Report, ReportedValue, SeriesName } from './reports/report.ts'

/** One number: its place among the metrics of its report, and where it has them what it is about and its label. */
type Row = [place: number, usage: number, limit: number, about?: string, label?: string]

/** A line of the stored text. `age`: how much earlier than the account's last reading it was read, ms. */
type ReportLine = [key: string, age: number, ...Row[]]

/**
 * The last numbers of an account as they are stored: a line of JSON for each report. A poll at rest neither reads nor
 * writes them: they are as old as its last reading.
 */
export class StoredReadings {
  /** Undefined: nothing was ever read. */
  readonly text: string | undefined
  readonly #at: number
  #readings: Readings | undefined

  private constructor(text: string | undefined, at: number, readings?: Readings) {
    this.text = text
    this.#at = at
    this.#readings = readings
  }

  static readonly none = new StoredReadings(undefined, 0)

  /** `at`: moment of the account's last reading, ms. */
  static read(text: string | undefined, at: number): StoredReadings {
    return text === undefined ? StoredReadings.none : new StoredReadings(text, at)
  }

  static of(readings: Readings, at: number): StoredReadings {
    const lines = Object.entries(readings).map(([key, reading]) => storedLine(key, reading.values, at - reading.at))
    return new StoredReadings(lines.join('\n'), at, readings)
  }

  /** Undefined: nothing was ever read. */
  get all(): Readings | undefined {
    if (this.text === undefined) return undefined
    this.#readings ??= readLines(this.lines, this.#at)
    return this.#readings
  }

  /** One for each report, in the order in which they were read. */
  get lines(): string[] {
    return this.text === undefined || this.text === '' ? [] : this.text.split('\n')
  }
}

/** The stored line of a report: the same text for the same numbers. */
export function storedLine(key: string, values: Reading['values'], age = 0): string {
  const { report } = reportOfKey(key) ?? {}
  const metrics = report === undefined ? [] : metricsOf(report)
  const isOfPair = report?.perPair !== undefined
  const rows = values.map((value) => rowOf(value, metrics.indexOf(value.metric), isOfPair))
  const line: ReportLine = [key, age, ...rows]
  return JSON.stringify(line)
}

function rowOf(value: ReportedValue, place: number, isOfPair: boolean): Row {
  const { usage, limit, objectTypeId, from, to, label } = value
  // The key of a report has its pair.
  const about = objectTypeId ?? (from === undefined || isOfPair ? '' : `${from}/${to}`)
  if (label !== undefined) return [place, usage, limit, about, label]
  return about === '' ? [place, usage, limit] : [place, usage, limit, about]
}

function readLines(lines: readonly string[], at: number): Readings {
  const readings: Record<string, Reading> = {}
  for (const line of lines) {
    const [key, age, ...rows] = JSON.parse(line) as ReportLine
    const found = reportOfKey(key)
    // A report that this version doesn't know is left out, and so is a metric.
    if (found !== undefined) readings[key] = { at: at - age, values: rows.flatMap((row) => valuesOf(row, found)) }
  }
  return readings
}

function valuesOf(
  [place, usage, limit, about = '', label]: Row,
  { report, pair }: { report: Report; pair: Pair },
): ReportedValue[] {
  const metric = metricsOf(report)[place]
  if (metric === undefined) return []
  const name = report.perPair === undefined ? nameOf(metric, about) : pair
  const value: ReportedValue = { ...name, metric, usage, limit }
  if (label !== undefined) value.label = label
  return [value]
}

function nameOf(metric: string, about: string): Partial<SeriesName> {
  const kind = metricKind(metric)?.about
  if (kind === 'account') return {}
  return kind === 'pair' ? pairOf(about) : { objectTypeId: about }
}
