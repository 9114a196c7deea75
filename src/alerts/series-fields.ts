import type { Series } from '../limits/series.ts'
import type { Alert } from './alert.ts'

/** What an alert says of the series that it is about: its name and its numbers. */
export function seriesFields(series: Series): Pick<Alert, 'series' | 'usage' | 'limit' | 'remaining' | 'percent'> {
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
