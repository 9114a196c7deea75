import { cleanText } from '../text/clean-text.ts'
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
  /** Plural name of the object type: a stranger's text. Of a pair: both names, `Companies → Contacts`. */
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

function* seriesIn({ customProperties, associations }: Readings): Generator<Series> {
  if (customProperties !== undefined) {
    const { overallUsage, overallLimit, byObjectType } = customProperties.report
    yield { id: 'overall', metric: 'customProperties.overall', ...measured(overallUsage, overallLimit) }
    for (const { objectTypeId, pluralLabel: label, usage, limit } of byObjectType) {
      const name = { metric: 'customProperties.objectType', objectTypeId } as const
      yield { id: seriesId(name), ...name, label, ...measured(usage, limit) }
    }
  }
  for (const [pair, { atLimit, nearLimit, fullest, limit }] of Object.entries(associations)) {
    const { from, to } = pairOf(pair)
    const name = { from, to, label: pairName(from, to, customProperties?.report.byObjectType) }
    yield { id: `at/${pair}`, metric: 'associations.atLimit', ...name, ...measured(atLimit, 0) }
    yield { id: `near/${pair}`, metric: 'associations.nearLimit', ...name, ...measured(nearLimit, 0) }
    yield { id: `fullest/${pair}`, metric: 'associations.fullest', ...name, ...measured(fullest, limit) }
  }
}

/** `Companies → Contacts`; with an account's own labels where a report has them. */
export function pairName(
  from: string,
  to: string,
  types: readonly { objectTypeId: string; pluralLabel: string }[] = [],
): string {
  const nameOf = (id: string) => objectTypeName(id, types.find(({ objectTypeId }) => objectTypeId === id)?.pluralLabel)
  return `${nameOf(from)} → ${nameOf(to)}`
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

/** `limit` 0: there is none. */
function measured(usage: number, limit: number): Pick<Series, 'usage' | 'limit' | 'percent'> {
  return limit > 0 ? { usage, limit, percent: (usage * 100) / limit } : { usage, limit: null, percent: null }
}

/** The provider's own object types, by their ids; all others are custom, and an account's own. */
const STANDARD: Readonly<Record<string, string>> = {
  '0-1': 'Contacts',
  '0-2': 'Companies',
  '0-3': 'Deals',
  '0-5': 'Tickets',
  '0-7': 'Products',
  '0-8': 'Line items',
  '0-14': 'Quotes',
  '0-18': 'Communications',
  '0-27': 'Tasks',
  '0-46': 'Notes',
  '0-47': 'Meetings',
  '0-48': 'Calls',
  '0-49': 'Emails',
  '0-53': 'Invoices',
  '0-69': 'Subscriptions',
  '0-101': 'Payments',
  '0-116': 'Postal mail',
  '0-123': 'Orders',
  '0-136': 'Leads',
  '0-142': 'Carts',
  '0-162': 'Services',
  '0-410': 'Courses',
  '0-420': 'Listings',
  '0-421': 'Appointments',
}

/** An object type for people: `Contacts`, `Projects (2-77)`. The id follows any name that is not the provider's own. */
export function objectTypeName(id: string, label = ''): string {
  const standard = Object.hasOwn(STANDARD, id) ? STANDARD[id] : undefined
  if (standard !== undefined && (label === '' || label === standard)) return standard
  const name = cleanText(label, 60)
  const ownId = cleanText(id, 40)
  if (name === '' || name === ownId) return ownId
  return ownId === '' ? name : `${name} (${ownId})`
}
