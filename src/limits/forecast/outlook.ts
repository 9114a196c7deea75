import type { Series } from '../series.ts'
import { type AccountForecasts, freshForecasts } from './account-forecasts.ts'
import { type DaysLeft, daysLeft, ENOUGH_POINTS, type Forecast, HORIZON_DAYS, type NoDaysLeft } from './forecast.ts'

/** When a series reaches its limit at its pace. */
export interface Outlook {
  /** 0 at or over the limit; null where it does not get there as far as can be told; undefined where nothing can be told. */
  daysLeft: number | null | undefined
  forecast: (Forecast & DaysLeft) | null
  /** Why there is no forecast; null where there is one. */
  forecastReason: string | null
  /** In the place of days left, where too little was read to tell of any: `3 of 7 days read`. */
  daysRead?: string
}

/** Of a series as it stands now, from what was told of the account last. */
export function outlookOf(
  series: Pick<Series, 'id' | 'usage' | 'limit'>,
  told: AccountForecasts | undefined,
  now: number,
): Outlook {
  const forecasts = freshForecasts(told, now)
  const pace = forecasts?.rising[series.id]
  const left = daysLeft(series.usage, series.limit, pace)
  if (typeof left === 'object' && pace !== undefined) {
    return { daysLeft: left.days, forecast: { ...pace, ...left }, forecastReason: null }
  }
  const points = series.limit === null ? undefined : forecasts?.tooFew[series.id]
  const daysRead = points === undefined ? undefined : `${points} of ${ENOUGH_POINTS} days read`
  const reason = unknownReason(series, forecasts, daysRead)
  const isKnown = typeof left === 'string' && reason === undefined
  return {
    daysLeft: typeof left === 'object' ? left.days : isKnown ? null : undefined,
    forecast: null,
    forecastReason: reason ?? (typeof left === 'string' ? REASONS[left] : REASONS['no-growth']),
    ...(daysRead === undefined || typeof left === 'object' ? {} : { daysRead }),
  }
}

const REASONS: Record<NoDaysLeft, string> = {
  'no-limit': 'no limit to reach',
  'no-growth': 'no steady growth',
  'not-in-sight': `no limit in sight: more than ${HORIZON_DAYS / 365} years away`,
}

/** Days as they are told, to one decimal. What is not at its limit never reads as 0: that would be another state. */
export function tenths(days: number): number {
  return days > 0 ? Math.max(0.1, Math.round(days * 10) / 10) : 0
}

/** Undefined where the forecast knows the series. */
function unknownReason(
  { limit }: Pick<Series, 'limit'>,
  forecasts: AccountForecasts | undefined,
  daysRead: string | undefined,
): string | undefined {
  if (limit === null) return REASONS['no-limit']
  if (forecasts === undefined) return 'no forecast was made in the last 3 days'
  return daysRead === undefined ? undefined : `too little history: ${daysRead}`
}
