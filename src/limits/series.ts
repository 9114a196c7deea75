import { pairName } from './pair.ts'
import { type Reading, type Readings, type TypeLabels, typesIn } from './readings.ts'
import { metricKind, metricOfWord } from './reports/all-reports.ts'
import type { SeriesName } from './reports/report.ts'

/** One number that moves toward a limit. */
export interface Series extends SeriesName {
  /** Stable and short: a field of the alert states, a field of history entries. */
  id: string
  /** Plural name of the object type: text from outside. Of a pair: both names, `Companies → Contacts`. */
  label?: string
  usage: number
  /** Null where there is none to compare with: a count, or a limit that the provider reports as 0. */
  limit: number | null
  /** Usage in percent of the limit, over 100 where it is over; null where the limit is. */
  percent: number | null
}

interface AllSeries {
  list: readonly Series[]
  byId: ReadonlyMap<string, Series>
}

const OF_READINGS = new WeakMap<Readings, AllSeries>()

/** All series of an account's last reports, in a stable order. Direction matters: 0-1 to 0-2 is not 0-2 to 0-1. */
export function seriesOf(readings: Readings): readonly Series[] {
  return allSeries(readings).list
}

/** The same by id; none where nothing was read. */
export function seriesById(readings: Readings | undefined): AllSeries['byId'] {
  return readings === undefined ? new Map() : allSeries(readings).byId
}

/** Made once for readings, which never change: a poll that finds a change asks eleven times. */
function allSeries(readings: Readings): AllSeries {
  const before = OF_READINGS.get(readings)
  if (before !== undefined) return before
  const types = typesIn(readings)
  const byId = new Map<string, Series>()
  for (const { values } of Object.values(readings)) {
    // A report that names an object type twice has one series of it: the first.
    for (const series of madeOf(values, types)) if (!byId.has(series.id)) byId.set(series.id, series)
  }
  const all = { list: [...byId.values()], byId }
  OF_READINGS.set(readings, all)
  return all
}

/** Written out, not spread: a poll that finds a change makes some dozens of them. */
function madeOf(values: Reading['values'], types: TypeLabels): Series[] {
  let [pair, pairLabel] = ['', '']
  return values.map(({ metric, objectTypeId, from, to, label, usage, limit: ofReport }): Series => {
    const limit = ofReport > 0 ? ofReport : null
    const percent = limit === null ? null : (usage * 100) / limit
    if (objectTypeId !== undefined) {
      const id = `${wordOf(metric)}/${encoded(objectTypeId)}`
      return { id, metric, objectTypeId, label: label ?? '', usage, limit, percent }
    }
    if (from === undefined || to === undefined) return { id: wordOf(metric), metric, usage, limit, percent }
    // Several values of one pair stand together.
    if (label === undefined && pair !== `${from}/${to}`) {
      pair = `${from}/${to}`
      pairLabel = pairName({ from, to }, types)
    }
    const id = `${wordOf(metric)}/${from}/${to}`
    return { id, metric, from, to, label: label ?? pairLabel, usage, limit, percent }
  })
}

/**
 * True where usage is not known: the provider shows it only from a share of the limit on, and 0 means anything below.
 */
export function isHidden({ metric, usage }: Pick<Series, 'metric' | 'usage'>): boolean {
  return usage === 0 && metricKind(metric)?.shownFrom !== undefined
}

/** The name back from the id; undefined for what is no series. */
export function parseSeriesId(id: string): SeriesName | undefined {
  const [word = '', first, second] = id.split('/')
  const metric = metricOfWord(word)
  if (metric === undefined) return undefined
  if (first === undefined) return { metric }
  if (second !== undefined) return { metric, from: first, to: second }
  const objectTypeId = decoded(first)
  return objectTypeId === undefined ? undefined : { metric, objectTypeId }
}

/** Undefined for an id that Plimsoll did not encode: ids are read in Redis too. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined
  }
}

/** The id of a name: what `parseSeriesId` reads. */
export function seriesId({ metric, objectTypeId, from, to }: SeriesName): string {
  if (from !== undefined) return `${wordOf(metric)}/${from}/${to}`
  return objectTypeId === undefined ? wordOf(metric) : `${wordOf(metric)}/${encoded(objectTypeId)}`
}

function wordOf(metric: string): string {
  return metricKind(metric)?.word ?? ''
}

/** Nearly all ids are plain, and to see that is far quicker than to encode them. */
function encoded(objectTypeId: string): string {
  return PLAIN.test(objectTypeId) ? objectTypeId : encodeURIComponent(objectTypeId)
}

const PLAIN = /^[\w-]+$/
