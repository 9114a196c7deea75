import { outlookOf, tenths } from './forecast/outlook.ts'
import type { AccountForecasts } from './forecast/stored-forecasts.ts'
import type { Readings } from './readings.ts'
import { type Series, seriesOf } from './series.ts'

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
/** The range of the ranking that has the accounts with a full series. */
export const FULL_RANGE = { from: FULL, to: FULL + NOTHING_ELSE + 1 } as const

/** The limit by which an account is ranked; undefined where none is near. */
export function nearestLimit(...account: Parameters<typeof closestLimit>): NearestLimit | undefined {
  const closest = closestLimit(...account)
  return closest && closest.nearness <= WITHOUT_DAYS + 100 - LEAST_PERCENT ? closest : undefined
}

/** The same however far it is; undefined where there is no limit at all. */
export function closestLimit(
  readings: Readings,
  forecasts: AccountForecasts | undefined,
  now: number,
): NearestLimit | undefined {
  let nearest: NearestLimit | undefined
  let full: Series | undefined
  for (const series of seriesOf(readings)) {
    const { daysLeft = null } = outlookOf(series, forecasts, now)
    if (daysLeft === 0) full ??= series
    else if (series.percent !== null) {
      const nearness = nearnessOf(series.percent, daysLeft)
      if (nearest === undefined || nearness < nearest.nearness) nearest = { series, daysLeft, nearness }
    }
  }
  if (full === undefined) return nearest
  return { series: full, daysLeft: 0, nearness: placesOf(nearest?.nearness ?? NOTHING_ELSE)[1] }
}

function nearnessOf(percent: number, daysLeft: number | null): number {
  if (daysLeft !== null && daysLeft < MOST_DAYS) return tenths(daysLeft)
  return WITHOUT_DAYS + Math.round((100 - percent) * 10) / 10
}

/** Both places in the ranking of an account of which a limit comes in so many days: without a full series, and with one. */
export function placesOf(days: number): readonly [number, number] {
  return [days, Math.round((FULL + days) * 10) / 10]
}

/** The days that an account is ranked by. */
export function daysOf(place: number): number {
  return place < 0 ? Math.round((place - FULL) * 10) / 10 : place
}
