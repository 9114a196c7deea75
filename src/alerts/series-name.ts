import { objectTypeName } from '../limits/object-type-name.ts'
import { pairName } from '../limits/pair.ts'
import { metricKind, reportOf } from '../limits/reports/all-reports.ts'
import type { Series as ReadSeries } from '../limits/series.ts'
import { defined } from '../runtime/defined.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatCount } from '../text/format-number.ts'
import type { Alert } from './alert.ts'

type Series = NonNullable<Alert['series']>

/** A kind of series, for what several accounts have in common. */
export function metricName(metric: string): string {
  const kind = metricKind(metric)
  if (kind === undefined) return cleanText(metric, 60)
  return kind.about === 'objectType' ? `${kind.noun} of an object type` : kind.noun
}

/** The same without what it is of: `custom properties`. */
export function metricNoun(metric: string): string {
  return metricKind(metric)?.noun ?? metricName(metric)
}

/** One series: `custom properties of Contacts`, `Companies → Contacts: fullest record`. */
export function seriesName(series: Series): string {
  const { metric, objectTypeId, label, from, to } = series
  if (from !== undefined && to !== undefined)
    return `${cleanText(label ?? pairName({ from, to }), 160)}: ${metricName(metric)}`
  if (objectTypeId === undefined) return metricName(metric)
  const type = objectTypeName(objectTypeId, label)
  return type === '' ? metricName(metric) : `${metricNoun(metric)} of ${type}`
}

/** `is` or `are`: what follows the name of a series. */
export function isOrAre(metric: string): 'is' | 'are' {
  return metricKind(metric)?.isOne ? 'is' : 'are'
}

/** The limit's name: `association limit`. */
export function limitWords({ metric }: Pick<Series, 'metric'>): string {
  return reportOf({ metric })?.limitWords ?? metricName(metric)
}

/** The customer's remedy. */
export function wayOutOf({ metric }: Pick<Series, 'metric'>): string | undefined {
  return reportOf({ metric })?.wayOut
}

/** A series that counts records, with its count: `Contacts → Deals: 12 records at the association limit`. */
export function countedRecords(series: Series, count: number): string {
  const name = seriesName(series).replace('records', `${formatCount(count)} records`)
  return count === 1 ? name.replace('1 records', '1 record') : name
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
