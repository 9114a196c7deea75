import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { History, Snapshot } from '../history/history.ts'
import { loadForecasts, loadReadings } from '../load-readings.ts'
import { readAt } from '../readings.ts'
import type { SeriesName } from '../reports/report.ts'
import { isHidden, type Series, seriesId, seriesOf } from '../series.ts'
import { type DailyPoint, forecast, WINDOW_DAYS } from './forecast.ts'
import { countOutcomes, followPredictions } from './predictions.ts'
import { type AccountForecasts, storeForecasts } from './stored-forecasts.ts'

const DAY_MS = 86_400_000

/**
 * Computes anew how fast the series of an account move, and judges what was foretold of them. 'none': it was never read, and
 * its earlier forecast is taken away.
 */
export async function forecastAccount(
  { store, keys, history }: { store: Store; keys: Keys; history: History },
  hubId: number,
  now: number,
): Promise<'stored' | 'none' | 'gone'> {
  const readings = await loadReadings(store, keys, hubId)
  if (readings === undefined) {
    const is = await storeForecasts(store, keys, hubId, undefined)
    return is === 'stored' ? 'none' : is
  }
  const snapshots = await history.read(hubId, now - WINDOW_DAYS * DAY_MS, now)
  const points = dailyPoints(snapshots, now, (name) => readAt(name, readings))
  const forecasts = forecastSeries(seriesOf(readings), points, now)
  const before = await loadForecasts(store, keys, hubId)
  const { rising } = forecasts
  const { open, ended } = followPredictions(before?.predictions ?? {}, { readings, snapshots, rising, now })
  const is = await storeForecasts(store, keys, hubId, { ...forecasts, predictions: open })
  if (is === 'stored') await countOutcomes(store, keys, ended, now)
  return is
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
  for (const { id, metric, usage, limit } of series) {
    // A count without a limit has nothing to reach, and a record that is not shown yet - 0 - is not known to move.
    if (limit === null || isHidden({ metric, usage })) continue
    // Days at the limit are no evidence of the pace, nor are those on which no fullest record was shown.
    const points = (values.get(id) ?? []).filter((one) => one.usage !== one.limit && !isHidden({ ...one, metric }))
    const outcome = forecast(points)
    if (outcome === 'not-enough-history') forecasts.tooFew[id] = points.length
    else if (outcome !== 'no-growth') forecasts.rising[id] = outcome
  }
  return forecasts
}

/** The value of a series at the end of one day. */
export interface DailyValue extends DailyPoint {
  limit: number | null
}

/**
 * The values of every series at the end of each day of the window, by series, oldest first. Days end at this time of day, not
 * at midnight: what happened today would else count tomorrow. A series that did not exist at the end of a day has none for
 * it, and so has a day that lies wholly in a gap, or began after the last reading.
 *
 * @param snapshots at changes, oldest first
 * @param readUntil moment at which a series was read last, ms
 */
export function dailyPoints(
  snapshots: readonly Snapshot[],
  now: number,
  readUntil: (series: SeriesName) => number | undefined,
): Map<string, DailyValue[]> {
  const points = new Map<string, DailyValue[]>()
  let next = 0
  for (let day = 0; day < WINDOW_DAYS; day++) {
    const start = now - (WINDOW_DAYS - day) * DAY_MS
    while ((snapshots[next]?.at ?? Number.POSITIVE_INFINITY) < start + DAY_MS) next++
    const current = snapshots[next - 1]
    // Only the first snapshot after a day can have ended a gap that holds all of it.
    if (current === undefined || (snapshots[next]?.missingSince ?? start) < start) continue
    for (const series of current.series) {
      if ((readUntil(series) ?? Number.NEGATIVE_INFINITY) < start) continue
      const id = seriesId(series)
      const values = points.get(id) ?? []
      values.push({ day, usage: series.usage, limit: series.limit })
      points.set(id, values)
    }
  }
  return points
}
