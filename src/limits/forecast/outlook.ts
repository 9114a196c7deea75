import type { Readings } from '../readings.ts'
import { type Series, seriesOf } from '../series.ts'
import { type DaysLeft, daysLeft, ENOUGH_POINTS, type Forecast, HORIZON_DAYS, type NoDaysLeft } from './forecast.ts'
import { type AccountForecasts, freshForecasts } from './forecast-account.ts'

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
  series: Pick<Series, 'id' | 'usage' | 'limit'>,
  stored: AccountForecasts | undefined,
  now: number,
): Outlook {
  const { id, usage, limit } = series
  const forecasts = freshForecasts(stored, now)
  const pace = forecasts?.rising[id]
  const left = daysLeft(usage, limit, pace)
  if (typeof left === 'object' && pace !== undefined) {
    return { daysLeft: left.days, forecast: { ...pace, ...left }, forecastReason: null }
  }
  const points = limit === null ? undefined : forecasts?.tooFew[id]
  let unknown: string | undefined
  if (limit === null) unknown = REASONS['no-limit']
  else if (stored === undefined) unknown = `forecasts start after ${ENOUGH_POINTS} days of data`
  else if (forecasts === undefined) unknown = 'no forecast was made in the last 3 days'
  else if (points !== undefined) unknown = `forecasts start after ${ENOUGH_POINTS} days of data: ${points} so far`
  if (typeof left === 'object') {
    return { daysLeft: left.days, forecast: null, forecastReason: unknown ?? REASONS['no-growth'] }
  }
  return {
    daysLeft: unknown === undefined ? null : undefined,
    forecast: null,
    forecastReason: unknown ?? REASONS[left],
  }
}

const REASONS: Record<NoDaysLeft, string> = {
  'no-limit': 'no limit to reach',
  'no-growth': 'no steady growth',
  'not-in-sight': `no limit in sight: more than ${HORIZON_DAYS / 365} years away`,
}

/** Days as they are shown, to one decimal. What is not at its limit never reads as 0: that would be another state. */
export function tenths(days: number): number {
  return days > 0 ? Math.max(0.1, Math.round(days * 10) / 10) : 0
}

/** The series of an account that reaches its limit first, by the forecast. */
export interface NearestLimit {
  series: Series
  /** 0 at or over the limit; null where its pace is not known. */
  daysLeft: number | null
  /**
   * Rank of the account, nearest first: by days where they are known, and after those by how much of the limit is left.
   */
  nearness: number
}

/** Further away, or emptier, nothing is worth a place in the ranking: each costs a hundred bytes. */
const MOST_DAYS = 90
const LEAST_PERCENT = 50
/** Behind all accounts whose days are known. */
const WITHOUT_DAYS = 100
const NOTHING_ELSE = 200
/** Added for an account with a full series: it comes before all others, and its place still has what fills up next. */
const FULL = -1_000
const FURTHEST = WITHOUT_DAYS + 100 - LEAST_PERCENT

/** Undefined where no limit is near. */
export function nearestLimit(
  readings: Readings,
  forecasts: AccountForecasts | undefined,
  now: number,
): NearestLimit | undefined {
  return closestLimit(readings, forecasts, now, FURTHEST)
}

/** The same however far it is; undefined where there is no limit at all. */
export function closestLimit(
  readings: Readings,
  forecasts: AccountForecasts | undefined,
  now: number,
  furthest = Number.POSITIVE_INFINITY,
): NearestLimit | undefined {
  let nearest: NearestLimit | undefined
  let full: Series | undefined
  for (const series of seriesOf(readings)) {
    const { daysLeft = null } = outlookOf(series, forecasts, now)
    if (daysLeft === 0) full ??= series
    const nearness = daysLeft === 0 ? undefined : nearnessOf(series, daysLeft)
    if (nearness !== undefined && nearness <= furthest && (nearest === undefined || nearness < nearest.nearness)) {
      nearest = { series, daysLeft, nearness }
    }
  }
  if (full === undefined) return nearest
  return { series: full, daysLeft: 0, nearness: whileFull(nearest?.nearness ?? NOTHING_ELSE) }
}

function nearnessOf({ percent }: Series, daysLeft: number | null): number | undefined {
  if (daysLeft !== null && daysLeft < MOST_DAYS) return tenths(daysLeft)
  if (percent === null) return undefined
  return WITHOUT_DAYS + Math.round((100 - percent) * 10) / 10
}

function whileFull(nearness: number): number {
  return Math.round((FULL + nearness) * 10) / 10
}

/** Both places in the ranking of an account of which a limit comes in so many days: without a full series, and with one. */
export function placesOf(days: number): readonly [number, number] {
  return [days, whileFull(days)]
}

/** The days that an account is ranked by. */
export function daysOf(place: number): number {
  return place < 0 ? Math.round((place - FULL) * 10) / 10 : place
}

/** The range of the ranking that has the accounts with a full series. */
export const FULL_RANGE = { from: FULL, to: FULL + NOTHING_ELSE + 1 } as const
