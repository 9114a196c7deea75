import { objectTypeName } from '../limits/object-type-name.ts'
import { pairName } from '../limits/pair.ts'
import { metricKind, reportOf } from '../limits/reports/all-reports.ts'
import type { Series as ReadSeries } from '../limits/series.ts'
import { defined } from '../runtime/defined.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import type { Alert } from './alert.ts'

type Series = NonNullable<Alert['series']>

/** The noun of a limit, without its object type: `custom properties`. */
export function metricNoun(metric: string): string {
  return metricKind(metric)?.noun ?? cleanText(metric, 60)
}

/** The one name of a limit: `Contacts: custom properties`, `Companies → Contacts: fullest record`. */
export function seriesName(series: Series): string {
  return joined(aboutOf(series), metricNoun(series.metric))
}

/** The object type or the pair that a limit is about, labels before ids; empty where it is the account's. */
export function aboutOf({ objectTypeId, label, from, to }: Series): string {
  if (from !== undefined && to !== undefined) return cleanText(label ?? pairName({ from, to }), 160)
  return objectTypeId === undefined ? '' : objectTypeName(objectTypeId, label)
}

/** A limit with its numbers: `Contacts: custom properties, 997 of 1,000`. */
export function limitText(series: Series, { usage, limit }: Pick<Alert, 'usage' | 'limit'>): string {
  if (usage === undefined) return seriesName(series)
  if (countsRecords(series)) return joined(aboutOf(series), countedRecords(series, usage))
  return `${seriesName(series)}, ${formatCount(usage)}${limit === undefined ? '' : ` of ${formatCount(limit)}`}`
}

function joined(about: string, noun: string): string {
  return about === '' ? noun : `${about}: ${noun}`
}

/** The limit's name: `association limit`. */
export function limitWords({ metric }: Pick<Series, 'metric'>): string {
  return reportOf({ metric })?.limitWords ?? metricNoun(metric)
}

/** The customer's remedy. */
export function wayOutOf({ metric }: Pick<Series, 'metric'>): string | undefined {
  return reportOf({ metric })?.wayOut
}

/** The noun of a series that counts records, with its count: `12 records at the association limit`. */
export function countedRecords({ metric }: Pick<Series, 'metric'>, count: number): string {
  return metricNoun(metric).replace('records', countOf(count, 'record'))
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
