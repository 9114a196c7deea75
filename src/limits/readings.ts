import { MOST_OBJECT_TYPES } from '../provider/bounds.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import { type Pair, pairId, pairOf } from './pair.ts'
import { reportNamed, reportOf } from './reports/all-reports.ts'
import type { ReadReport, Report, ReportedValue, ReportWords, SeriesName } from './reports/report.ts'

/** The numbers of one report. Its records are another matter: see samples.ts. */
export interface Reading {
  /** Moment of the reading, ms. */
  at: number
  values: readonly ReportedValue[]
}

/** The last reports of an account that could be read, by `readingKey`, in the order of the list of reports. */
export type Readings = Readonly<Record<string, Reading>>

/** The report's name; of one that is asked for once a pair, `associations/0-1/0-2`. */
export function readingKey({ name, perPair }: ReportWords, pair: Partial<Pair>): string {
  return perPair === undefined ? name : `${name}/${pair.from}/${pair.to}`
}

/** Which report a key names, and of which pair; undefined: one that this version doesn't know. */
export function reportOfKey(key: string): { report: Report; pair: Pair } | undefined {
  const slash = key.indexOf('/')
  const report = reportNamed(slash === -1 ? key : key.slice(0, slash))
  return report && { report, pair: pairOf(slash === -1 ? '' : key.slice(slash + 1)) }
}

/** The key of the report that a series comes from; '' for none of this version. */
export function keyOf(series: SeriesName): string {
  const report = reportOf(series)
  return report === undefined ? '' : readingKey(report, series)
}

/** True where its report is asked for once a pair, so that pairs may take turns. */
export function isOfOnePair(series: SeriesName): boolean {
  return reportOf(series)?.perPair !== undefined
}

/** For people, and where gaps are noted: the report's words, or its pair. */
export function wordsOfKey(key: string): string {
  const { report, pair } = reportOfKey(key) ?? {}
  if (report === undefined || pair === undefined) return key
  return report.perPair === undefined ? report.words : pairId(pair)
}

/** Moment at which the report of a series was read, ms; undefined: never. */
export function readAt(series: SeriesName, readings: Readings | undefined): number | undefined {
  return readings?.[keyOf(series)]?.at
}

/** The reports of one poll, by `readingKey`: one that fails doesn't lose the others. */
export type Reports = ReadonlyMap<string, ReadReport | ProviderFailure>

export function isFailure(report: object): report is ProviderFailure {
  return 'class' in report
}

/** The reports that count from now on: the new ones, the old ones where there is none, none that are not asked for any more. */
export function mergeReadings(
  before: Readings | undefined,
  { at, reports }: { at: number; reports: Reports },
): Readings {
  const after: Record<string, Reading> = {}
  for (const [key, report] of reports) {
    const old = before?.[key]
    if (!isFailure(report)) after[key] = { at, values: withThoseBefore(report, old?.values ?? []) }
    else if (old !== undefined) after[key] = old
  }
  return after
}

/** An object type, or a pair, that could not be read is none that is gone: what was read of it last stays, up to the bound of a report. */
function withThoseBefore(
  { isPartial, values }: ReadReport,
  before: readonly ReportedValue[],
): readonly ReportedValue[] {
  if (isPartial === undefined) return values
  const nameOf = ({ metric, objectTypeId, from, to }: SeriesName) => [metric, objectTypeId, from, to].join(' ')
  const named = new Set(values.map(nameOf))
  return [...values, ...before.filter((value) => !named.has(nameOf(value)))].slice(0, MOST_VALUES)
}

/** Object types, and what they have in common. */
const MOST_VALUES = MOST_OBJECT_TYPES + 1

/** In place of a report: it is still watched, but it was not its turn, or the account was paused before. */
export const NOT_ASKED: ProviderFailure = {
  class: 'transient',
  code: 'not-asked',
  message: 'not asked for this time',
  status: 0,
}

export function failuresOf(reports: Iterable<object>): ProviderFailure[] {
  return [...reports].filter((report) => isFailure(report)).filter((failure) => failure !== NOT_ASKED)
}

/** Labels of an account's object types; undefined: none of its reports names any. */
export type TypeLabels = ReadonlyMap<string, string> | undefined

/** The object types that an account has, with their labels, as far as its reports name them. */
export function typesIn(readings: Readings | undefined): TypeLabels {
  let types: Map<string, string> | undefined
  for (const [key, { values }] of Object.entries(readings ?? {})) {
    if (reportOfKey(key)?.report.namesTypes === undefined) continue
    types ??= new Map()
    for (const { objectTypeId, label = '' } of values) {
      // An object type in two reports has the label of the first.
      if (objectTypeId !== undefined && !types.has(objectTypeId)) types.set(objectTypeId, label)
    }
  }
  return types
}

/** A pair as it was read last. */
export interface PairReading {
  /** ms */
  at: number
  /** The largest that it has; 0: none. */
  limit: number
  /** True where it had anything at or near its limit. */
  isBusy: boolean
}

/** Pairs of the reports that are asked for once a pair, as they were read last, by `from/to`. */
export function pairsIn(readings: Readings | undefined): Map<string, PairReading> {
  const pairs = new Map<string, PairReading>()
  for (const [key, { at, values }] of Object.entries(readings ?? {})) {
    const { report, pair } = reportOfKey(key) ?? {}
    if (report?.perPair === undefined || pair === undefined) continue
    const limit = values.reduce((most, value) => Math.max(most, value.limit), 0)
    const isBusy = values.some(({ metric, usage }) => report.metrics[metric]?.counts !== undefined && usage > 0)
    pairs.set(pairId(pair), { at, limit, isBusy })
  }
  return pairs
}
