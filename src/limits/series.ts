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

/** What a series is about, without its numbers. */
export type SeriesName = Pick<Series, 'metric' | 'objectTypeId' | 'from' | 'to'>

/** All series of an account's last reports, in a stable order. Direction matters: 0-1 to 0-2 is not 0-2 to 0-1. */
export function seriesOf(readings: Readings): Series[] {
  const all = [...customPropertySeries(readings), ...associationSeries(readings)]
  // A report that names an object type twice has one series of it: the first.
  return [...new Map(all.toReversed().map((series) => [series.id, series])).values()].toReversed()
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

function customPropertySeries({ customProperties }: Readings): Series[] {
  if (customProperties === undefined) return []
  const { overallUsage, overallLimit, byObjectType } = customProperties.report
  return [
    { id: 'overall', metric: 'customProperties.overall', ...measured(overallUsage, overallLimit) },
    ...byObjectType.map((type) => ({
      id: `type/${encodeURIComponent(type.objectTypeId)}`,
      metric: 'customProperties.objectType' as const,
      objectTypeId: type.objectTypeId,
      label: type.pluralLabel,
      ...measured(type.usage, type.limit),
    })),
  ]
}

function associationSeries({ associations }: Readings): Series[] {
  return Object.entries(associations).flatMap(([pair, reading]) => {
    const { from, to } = pairOf(pair)
    const series = (name: string, metric: Metric, usage: number, limit: number | null): Series => ({
      id: `${name}/${pair}`,
      metric,
      from,
      to,
      ...(limit === null ? { usage, limit, percent: null } : measured(usage, limit)),
    })
    return [
      series('at', 'associations.atLimit', reading.atLimit, null),
      series('near', 'associations.nearLimit', reading.nearLimit, null),
      series('fullest', 'associations.fullest', reading.fullest, reading.limit),
    ]
  })
}

function measured(usage: number, limit: number): Pick<Series, 'usage' | 'limit' | 'percent'> {
  return limit > 0 ? { usage, limit, percent: (usage * 100) / limit } : { usage, limit: null, percent: null }
}
