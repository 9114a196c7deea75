import { objectTypeName } from '../limits/object-type-name.ts'
import { pairName, wordsOfPair } from '../limits/pair.ts'
import { metricKind, reportOf } from '../limits/reports/all-reports.ts'
import type { Series as ReadSeries } from '../limits/series.ts'
import { defined } from '../runtime/defined.ts'
import { cleanText } from '../text/clean-text.ts'
import { capitalized, countOf, formatCount } from '../text/format-number.ts'
import type { Alert } from './alert.ts'

type Series = NonNullable<Alert['series']>

/** The noun of a limit, without its object type: `custom properties`. */
export function metricNoun(metric: string): string {
  return metricKind(metric)?.noun ?? cleanText(metric, 60)
}

/** The one name of a limit: `Contacts: custom properties`, `Contacts per company`, `Custom properties` of the account. */
export function seriesName(series: Series): string {
  const { about, noun } = nameParts(series)
  if (about === '') return capitalized(noun)
  return noun === '' ? about : `${about}: ${noun}`
}

/** Both parts of the name, one of which may be empty: the object type or the pair, labels before ids, and the noun. */
export function nameParts(series: Series): { about: string; noun: string } {
  const { metric, objectTypeId, label } = series
  const noun = metricNoun(metric)
  const pair = pairOf(series)
  if (pair === undefined) return { about: objectTypeId === undefined ? '' : objectTypeName(objectTypeId, label), noun }
  const { name, from, to } = pair
  const counts = countsRecords(series)
  if (counts !== undefined) return { about: '', noun: `${from.many} ${COUNTED[counts].that} ${to.held}` }
  return metricKind(metric)?.isOne ? { about: `${to.name} per ${from.one}`, noun: '' } : { about: name, noun }
}

const COUNTED = {
  full: { that: 'with the maximum of', one: 'has the maximum of', many: 'have the maximum of' },
  near: { that: 'close to the maximum of', one: 'is close to the maximum of', many: 'are close to the maximum of' },
} as const

function pairOf({ from, to, label }: Series) {
  if (from === undefined || to === undefined) return undefined
  const name = cleanText(label || pairName({ from, to }), 160)
  return { name, ...wordsOfPair({ from, to }, name) }
}

/** A limit with its numbers: `Contacts: custom properties, 997 of 1,000`, `24 companies have the maximum of contacts`. */
export function limitText(series: Series, { usage, limit }: Pick<Alert, 'usage' | 'limit'>): string {
  const name = seriesName(series)
  if (usage === undefined) return name
  const counts = countsRecords(series)
  if (counts !== undefined) return countedText(series, usage, counts)
  return `${name}${nameParts(series).noun === '' ? ':' : ','} ${usedText(usage, limit)}`
}

/** `997 of 1,000`, `1,000 of 1,000 (limit reached)`. */
export function usedText(usage: number, limit: number | undefined): string {
  if (limit === undefined) return formatCount(usage)
  return `${formatCount(usage)} of ${formatCount(limit)}${usage >= limit ? ' (limit reached)' : ''}`
}

function countedText(series: Series, count: number, counts: 'full' | 'near'): string {
  const pair = pairOf(series)
  if (pair === undefined) return metricNoun(series.metric).replace('records', countOf(count, 'record'))
  const { from, to } = pair
  const number = count === 0 ? `no ${from.one}` : countOf(count, from.one, from.many)
  return `${number} ${COUNTED[counts][count > 1 ? 'many' : 'one']} ${to.held}`
}

/** The limit's name: `association limit`. */
export function limitWords({ metric }: Pick<Series, 'metric'>): string {
  return reportOf({ metric })?.limitWords ?? metricNoun(metric)
}

/** The customer's remedy. */
export function wayOutOf(series: Series): string | undefined {
  const pair = ofRecords(series)
  if (pair === undefined) return reportOf(series)?.wayOut
  return `Open the fullest ${pair.from.many} and remove ${pair.to.held} that are not needed`
}

/** Meaning of a full limit to the customer: `you can create no more custom properties for Property Listings`. */
export function limitIsFull(series: Series): string {
  const pair = ofRecords(series)
  const { about, noun } = nameParts(series)
  if (pair === undefined) return `you can create no more ${noun}${about === '' ? '' : ` for ${about}`}`
  return `you can add no more ${pair.to.held} to ${countsRecords(series) ? `these ${pair.from.many}` : `the ${pair.from.one}`}`
}

/** The types of a series about single records, which have too many associations. */
function ofRecords(series: Series) {
  return countsRecords(series) !== undefined || metricKind(series.metric)?.isOne ? pairOf(series) : undefined
}

/** Set where usage counts records, which has no limit of its own: full ones, or those near their limit. */
export function countsRecords({ metric }: Pick<Series, 'metric'>): 'full' | 'near' | undefined {
  return metricKind(metric)?.counts
}

/** The fields of an alert about its series: its name and its numbers. */
export function seriesFields(series: ReadSeries): Pick<Alert, 'series' | 'usage' | 'limit' | 'remaining' | 'percent'> {
  const { metric, objectTypeId, label, from, to, usage, limit, percent } = series
  return {
    series: { metric, ...defined({ objectTypeId, label, from, to }) },
    usage,
    ...(limit === null ? {} : { limit, remaining: limit - usage }),
    ...(percent === null ? {} : { percent: Math.round(percent * 100) / 100 }),
  }
}
