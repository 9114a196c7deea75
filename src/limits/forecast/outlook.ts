import type { Series } from '../series.ts'
import { type DaysLeft, daysLeft, ENOUGH_POINTS, type Forecast, HORIZON_DAYS } from './forecast.ts'
import { type AccountForecasts, freshForecasts } from './stored-forecasts.ts'

/** Days until a series reaches its limit at its pace. */
export interface Outlook {
  /** 0 at or over the limit; null where no end is in sight; undefined where the pace is not known. */
  daysLeft: number | null | undefined
  forecast: (Forecast & DaysLeft) | null
  /** Why there is no forecast; null where there is one. */
  forecastReason: string | null
}

/** Outlook of a series, from its present value and the account's last forecast. */
export function outlookOf(
  { id, usage, limit }: Pick<Series, 'id' | 'usage' | 'limit'>,
  stored: AccountForecasts | undefined,
  now: number,
): Outlook {
  if (limit === null) return { daysLeft: undefined, forecast: null, forecastReason: 'no limit to reach' }
  const forecasts = freshForecasts(stored, now)
  const pace = forecasts?.rising[id]
  const left = pace && daysLeft(usage, limit, pace)
  if (pace !== undefined && left !== undefined)
    return { daysLeft: left.days, forecast: { ...pace, ...left }, forecastReason: null }
  const points = forecasts?.tooFew[id]
  const isKnown = forecasts !== undefined && points === undefined
  let forecastReason = 'no steady growth'
  if (stored === undefined) forecastReason = `forecasts start after ${ENOUGH_POINTS} days of data`
  else if (forecasts === undefined) forecastReason = 'no forecast was made in the last 3 days'
  else if (points !== undefined)
    forecastReason = `forecasts start after ${ENOUGH_POINTS} days of data: ${points} so far`
  else if (pace !== undefined) forecastReason = `no limit in sight: more than ${HORIZON_DAYS / 365} years away`
  if (usage >= limit) return { daysLeft: 0, forecast: null, forecastReason }
  return { daysLeft: isKnown ? null : undefined, forecast: null, forecastReason }
}

/** Days as they are shown, to one decimal. What is not at its limit never reads as 0: that would be another state. */
export function tenths(days: number): number {
  return days > 0 ? Math.max(0.1, Math.round(days * 10) / 10) : 0
}
