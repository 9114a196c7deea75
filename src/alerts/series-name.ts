import type { Series as ReadSeries } from '../limits/series.ts'
import { cleanText } from '../text/clean-text.ts'
import { formatCount } from '../text/format-number.ts'
import type { Alert } from './alert.ts'

type Series = NonNullable<Alert['series']>

/** A kind of series in people's words, for what is said of several accounts at once. */
export function metricName(metric: string): string {
  switch (metric) {
    case 'customProperties.overall':
      return 'custom properties'
    case 'customProperties.objectType':
      return 'custom properties of an object type'
    case 'associations.atLimit':
      return 'records at their association limit'
    case 'associations.nearLimit':
      return 'records near their association limit'
    case 'associations.fullest':
      return 'fullest records'
    default:
      return cleanText(metric, 60)
  }
}

/** One series in people's words: `custom properties of Contacts (0-1)`. */
export function seriesName(series: Series): string {
  switch (series.metric) {
    case 'customProperties.objectType':
      return objectTypeName(series) === ''
        ? metricName(series.metric)
        : `custom properties of ${objectTypeName(series)}`
    case 'associations.fullest':
      return `fullest record${pairOf(series, ' ')}`
    default:
      return `${metricName(series.metric)}${pairOf(series, ' (', ')')}`
  }
}

/** A series that counts records, with its count: `12 records at their association limit (0-1 to 0-2)`. */
export function countedRecords(series: Series, count: number): string {
  const name =
    count === 1 ? seriesName(series).replace('records', 'record').replace('their', 'its') : seriesName(series)
  return `${formatCount(count)} ${name}`
}

/** Whether usage of the series is a number of records, which has no limit of its own. */
export function countsRecords(series: Series): boolean {
  return series.metric === 'associations.atLimit' || series.metric === 'associations.nearLimit'
}

function objectTypeName({ label, objectTypeId }: Series): string {
  const id = cleanText(objectTypeId ?? '', 40)
  const name = cleanText(label ?? '', 60)
  if (name === '' || name === id) return id
  return id === '' ? name : `${name} (${id})`
}

function pairOf({ from, to }: Series, before: string, after = ''): string {
  return from === undefined || to === undefined ? '' : `${before}${cleanText(from, 40)} to ${cleanText(to, 40)}${after}`
}

/** What an alert says of the series that it is about: its name and its numbers. */
export function seriesFields(series: ReadSeries): Pick<Alert, 'series' | 'usage' | 'limit' | 'remaining' | 'percent'> {
  const { metric, objectTypeId, label, from, to, usage, limit, percent } = series
  return {
    series: {
      metric,
      ...(objectTypeId === undefined ? {} : { objectTypeId }),
      ...(label === undefined ? {} : { label }),
      ...(from === undefined ? {} : { from }),
      ...(to === undefined ? {} : { to }),
    },
    usage,
    ...(limit === null ? {} : { limit, remaining: limit - usage }),
    ...(percent === null ? {} : { percent: Math.round(percent * 100) / 100 }),
  }
}
