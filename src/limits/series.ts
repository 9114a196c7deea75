import type { CustomPropertyReport } from '../provider/answers.ts'
import type { AssociationReading } from './association-reading.ts'
import { pairOf, type Readings } from './readings.ts'

export const METRICS = [
  'customProperties.overall',
  'customProperties.objectType',
  'associations.atLimit',
  'associations.nearLimit',
  'associations.fullest',
] as const
export type Metric = (typeof METRICS)[number]

/** One number that moves toward a limit. */
export interface Series {
  /** Stable and short: a field of the alert states, a field of history entries. */
  id: string
  metric: Metric
  objectTypeId?: string
  /** Plural name of the object type: a stranger's text. */
  label?: string
  from?: string
  to?: string
  usage: number
  /** Null where there is none to compare with: a count, or a limit that the provider reports as 0. */
  limit: number | null
  /** Usage in percent of the limit, over 100 where it is over; null where the limit is. */
  percent: number | null
}

type ObjectTypeReport = CustomPropertyReport['byObjectType'][number]

/** What a series is about, without its numbers. */
export type SeriesName = Pick<Series, 'metric' | 'objectTypeId' | 'from' | 'to'>

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

/** Made once for readings, which nobody changes: a poll that finds something new asks eleven times. */
function allSeries(readings: Readings): AllSeries {
  const before = OF_READINGS.get(readings)
  if (before !== undefined) return before
  const list: Series[] = []
  const byId = new Map<string, Series>()
  const add = (series: Series) => {
    // A report that names an object type twice has one series of it: the first.
    if (byId.has(series.id)) return
    byId.set(series.id, series)
    list.push(series)
  }
  addCustomProperties(add, readings)
  addAssociations(add, readings)
  OF_READINGS.set(readings, { list, byId })
  return { list, byId }
}

const METRIC_OF: ReadonlyMap<string, Metric> = new Map([
  ['overall', 'customProperties.overall'],
  ['type', 'customProperties.objectType'],
  ['at', 'associations.atLimit'],
  ['near', 'associations.nearLimit'],
  ['fullest', 'associations.fullest'],
])
const WORD_OF: ReadonlyMap<Metric, string> = new Map([...METRIC_OF].map(([word, metric]) => [metric, word]))

/** The name back from the id; undefined for what is no series. */
export function parseSeriesId(id: string): SeriesName | undefined {
  const [word = '', first, second] = id.split('/')
  const metric = METRIC_OF.get(word)
  if (metric === undefined) return undefined
  if (first === undefined) return { metric }
  return second === undefined
    ? { metric, objectTypeId: decodeURIComponent(first) }
    : { metric, from: first, to: second }
}

/** The id of a name: what `parseSeriesId` reads. */
export function seriesId({ metric, objectTypeId, from, to }: SeriesName): string {
  const word = WORD_OF.get(metric) ?? ''
  if (from !== undefined) return `${word}/${from}/${to}`
  return objectTypeId === undefined ? word : `${word}/${encodeURIComponent(objectTypeId)}`
}

function addCustomProperties(add: (series: Series) => void, { customProperties }: Readings): void {
  if (customProperties === undefined) return
  add(overallSeries(customProperties.report))
  for (const type of customProperties.report.byObjectType) add(typeSeries(type))
}

function addAssociations(add: (series: Series) => void, { associations }: Readings): void {
  for (const [pair, reading] of Object.entries(associations)) {
    add(atLimitSeries(pair, reading))
    add(nearLimitSeries(pair, reading))
    add(fullestSeries(pair, reading))
  }
}

export function overallSeries({ overallUsage, overallLimit }: CustomPropertyReport): Series {
  return { id: 'overall', metric: 'customProperties.overall', ...measured(overallUsage, overallLimit) }
}

export function typeSeries({ objectTypeId, pluralLabel: label, usage, limit }: ObjectTypeReport): Series {
  const id = `type/${encodeURIComponent(objectTypeId)}`
  return { id, metric: 'customProperties.objectType', objectTypeId, label, ...measured(usage, limit) }
}

function atLimitSeries(pair: string, { atLimit: usage }: AssociationReading): Series {
  return { id: `at/${pair}`, metric: 'associations.atLimit', ...pairOf(pair), usage, limit: null, percent: null }
}

function nearLimitSeries(pair: string, { nearLimit: usage }: AssociationReading): Series {
  return { id: `near/${pair}`, metric: 'associations.nearLimit', ...pairOf(pair), usage, limit: null, percent: null }
}

function fullestSeries(pair: string, { fullest, limit }: AssociationReading): Series {
  return { id: `fullest/${pair}`, metric: 'associations.fullest', ...pairOf(pair), ...measured(fullest, limit) }
}

function measured(usage: number, limit: number): Pick<Series, 'usage' | 'limit' | 'percent'> {
  return limit > 0 ? { usage, limit, percent: (usage * 100) / limit } : { usage, limit: null, percent: null }
}
