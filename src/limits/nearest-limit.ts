import type { AccountForecasts } from './forecast/account-forecasts.ts'
import { outlookOf } from './forecast/outlook.ts'
import type { Readings } from './readings.ts'
import { type Series, seriesOf } from './series.ts'

/** Of an account's series the one that is first to reach its limit, by the forecast. */
export interface NearestLimit {
  series: Series
  /** 0 at or over the limit; null where its pace is not known. */
  daysLeft: number | null
  /** What accounts are ranked by, nearest first: days where they are known, and after those how much of the limit is left. */
  nearness: number
}

/** Further away, or emptier, nothing is worth a place in the ranking: each costs a hundred bytes. */
const MOST_DAYS = 90
const LEAST_PERCENT = 50
/** Behind all accounts whose days are known. */
const WITHOUT_DAYS = 100

/** Undefined where no limit is near. */
export function nearestLimit(
  readings: Readings,
  forecasts: AccountForecasts | undefined,
  now: number,
): NearestLimit | undefined {
  let nearest: NearestLimit | undefined
  for (const series of seriesOf(readings)) {
    const { daysLeft = null } = outlookOf(series, forecasts, now)
    const nearness = nearnessOf(series, daysLeft)
    if (nearness !== undefined && (nearest === undefined || nearness < nearest.nearness)) {
      nearest = { series, daysLeft, nearness }
    }
  }
  return nearest
}

function nearnessOf({ percent }: Series, daysLeft: number | null): number | undefined {
  if (daysLeft !== null && daysLeft < MOST_DAYS) return tenth(daysLeft)
  if (percent === null || percent < LEAST_PERCENT) return undefined
  return WITHOUT_DAYS + tenth(Math.max(0, 100 - percent))
}

/** Short in Redis, and near enough. */
function tenth(value: number): number {
  return Math.round(value * 10) / 10
}
