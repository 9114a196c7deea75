import { pairName } from './pair.ts'
import { type Readings, typesIn } from './readings.ts'
import { metricKind, metricOfWord } from './reports/all-reports.ts'
import type { SeriesName } from './reports/report.ts'

/** One number that moves toward a limit. */
export interface Series extends SeriesName {
  /** Stable and short: a field of the alert states, a field of history entries. */
  id: string
  /** Plural name of the object type: a stranger's text. Of a pair: both names, `Companies → Contacts`. */
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
  const byId = new Map<string, Series>()
  // A report that names an object type twice has one series of it: the first.
  for (const series of seriesIn(readings)) if (!byId.has(series.id)) byId.set(series.id, series)
  const all = { list: [...byId.values()], byId }
  OF_READINGS.set(readings, all)
  return all
}

function* seriesIn(readings: Readings): Generator<Series> {
  const types = typesIn(readings)
  for (const { values } of Object.values(readings)) {
    for (const { usage, limit, reported: _, ...name } of values) {
      const { from, to } = name
      const label = name.label ?? (from === undefined || to === undefined ? undefined : pairName({ from, to }, types))
      yield { id: seriesId(name), ...name, ...(label === undefined ? {} : { label }), ...measured(usage, limit) }
    }
  }
}

/** Whether its usage is not known: the provider shows it only from a share of the limit on, and 0 stands for anything below. */
export function isHidden({ metric, usage }: Pick<Series, 'metric' | 'usage'>): boolean {
  return usage === 0 && metricKind(metric)?.shownFrom !== undefined
}

/** The name back from the id; undefined for what is no series. */
export function parseSeriesId(id: string): SeriesName | undefined {
  const [word = '', first, second] = id.split('/')
  const metric = metricOfWord(word)
  if (metric === undefined) return undefined
  if (first === undefined) return { metric }
  return second === undefined
    ? { metric, objectTypeId: decodeURIComponent(first) }
    : { metric, from: first, to: second }
}

/** The id of a name: what `parseSeriesId` reads. */
export function seriesId({ metric, objectTypeId, from, to }: SeriesName): string {
  const word = metricKind(metric)?.word ?? ''
  if (from !== undefined) return `${word}/${from}/${to}`
  return objectTypeId === undefined ? word : `${word}/${encodeURIComponent(objectTypeId)}`
}

/** `limit` 0: there is none. */
function measured(usage: number, limit: number): Pick<Series, 'usage' | 'limit' | 'percent'> {
  return limit > 0 ? { usage, limit, percent: (usage * 100) / limit } : { usage, limit: null, percent: null }
}
