import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { History } from '../history/history.ts'
import { keptReadings } from '../history/kept-readings.ts'
import { readAt } from '../readings.ts'
import { type Metric, type Series, type SeriesName, seriesOf } from '../series.ts'
import { type AccountForecasts, storeForecasts } from './account-forecasts.ts'
import { type DailyValue, dailyPoints, dayOf, UTC_DAY_MS } from './daily-points.ts'
import { forecast, WINDOW_DAYS } from './forecast.ts'
import type { DailyPoint } from './pace.ts'

export interface ForecastDeps {
  store: Store
  keys: Keys
  history: History
}

/**
 * Computes anew how fast the series of an account move. Its days end at this time of day, not at midnight: what happened today
 * would else count tomorrow, a day later than need be. 'none': it was never read, and its earlier forecast is taken
 * away.
 */
export async function forecastAccount(
  { store, keys, history }: ForecastDeps,
  hubId: number,
  now: number,
): Promise<'stored' | 'none' | 'gone'> {
  const names = keys.account(hubId)
  const readings = keptReadings(hubId, names, await store.getBuffer(names.readings))
  if (readings === undefined) {
    const is = await storeForecasts(store, keys, hubId, undefined)
    return is === 'stored' ? 'none' : is
  }
  const today = dayOf(now)
  const span = { from: today - WINDOW_DAYS, to: today, offset: now - today * UTC_DAY_MS }
  const snapshots = await history.read(hubId, now - WINDOW_DAYS * UTC_DAY_MS, now)
  const readUntil = (name: SeriesName) => readAt(name, readings)
  const values = dailyPoints(snapshots, { ...span, readUntil })
  return storeForecasts(store, keys, hubId, forecastSeries(seriesOf(readings), values, now))
}

/**
 * Only series that rise, or have too little history: the others do not move. So an account in which nothing rises has a
 * forecast too, and differs from one that was not computed.
 */
export function forecastSeries(
  series: readonly Series[],
  values: ReadonlyMap<string, readonly DailyValue[]>,
  now: number,
): AccountForecasts {
  const forecasts: AccountForecasts = { at: now, rising: {}, tooFew: {} }
  for (const { id, metric } of series.filter(isForeseeable)) {
    const points = tellingPoints(metric, values.get(id) ?? [])
    const told = forecast(points)
    if (told === 'not-enough-history') forecasts.tooFew[id] = points.length
    else if (told !== 'no-growth') forecasts.rising[id] = told
  }
  return forecasts
}

/** A count without a limit has nothing to reach, and a record that is not shown yet - 0 - is not known to move. */
function isForeseeable({ metric, limit, usage }: Series): boolean {
  return limit !== null && !(metric === 'associations.fullest' && usage === 0)
}

/**
 * Without the days that are no evidence of the pace: stuck at the limit, where usage would have gone on if it could; and for
 * the fullest record those on which the provider showed none, and 0 means any usage below 80 %.
 */
export function tellingPoints(metric: Metric, values: readonly DailyValue[]): DailyPoint[] {
  return values.filter(({ usage, limit }) => usage !== limit && !(metric === 'associations.fullest' && usage === 0))
}
