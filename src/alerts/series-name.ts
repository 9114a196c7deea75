import { objectTypeName, pairName, type Series as ReadSeries } from '../limits/series.ts'
import { defined } from '../runtime/defined.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatCount } from '../text/format-number.ts'
import type { Alert } from './alert.ts'

type Series = NonNullable<Alert['series']>

/** A kind of series, for what several accounts have in common. */
export function metricName(metric: string): string {
  switch (metric) {
    case 'customProperties.overall':
      return 'custom properties'
    case 'customProperties.objectType':
      return 'custom properties of an object type'
    case 'associations.atLimit':
      return 'records at the association limit'
    case 'associations.nearLimit':
      return 'records near the association limit'
    case 'associations.fullest':
      return 'fullest record'
    default:
      return cleanText(metric, 60)
  }
}

/** One series: `custom properties of Contacts`, `Companies → Contacts: fullest record`. */
export function seriesName(series: Series): string {
  const { metric, objectTypeId, label, from, to } = series
  if (from !== undefined && to !== undefined)
    return `${cleanText(label ?? pairName(from, to), 160)}: ${metricName(metric)}`
  if (metric !== 'customProperties.objectType') return metricName(metric)
  const type = objectTypeName(objectTypeId ?? '', label)
  return type === '' ? metricName(metric) : `custom properties of ${type}`
}

/** A series that counts records, with its count: `Contacts → Deals: 12 records at the association limit`. */
export function countedRecords(series: Series, count: number): string {
  const name = seriesName(series).replace('records', `${formatCount(count)} records`)
  return count === 1 ? name.replace('1 records', '1 record') : name
}

/** Whether usage of the series is a number of records, which has no limit of its own. */
export function countsRecords(series: Series): boolean {
  return series.metric === 'associations.atLimit' || series.metric === 'associations.nearLimit'
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
