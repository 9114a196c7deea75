import type { AlertLevel } from '../alerts/alert.ts'
import { outlookOf } from '../limits/forecast/outlook.ts'
import { loadForecasts, loadReadings } from '../limits/load-readings.ts'
import { closestLimit, type NearestLimit } from '../limits/nearest-limit.ts'
import { type Series, seriesOf } from '../limits/series.ts'
import { hubIdsIn } from '../redis/keys.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys'>

/** The members of a part of the ranking, from Redis' list of them and their places. */
export function rankedIn(part: readonly string[]): { hubId: number; place: number }[] {
  return part.flatMap((member, n) =>
    n % 2 === 0 ? hubIdsIn([member]).map((hubId) => ({ hubId, place: Number(part[n + 1]) })) : [],
  )
}

/**
 * The limit of an account to show: the fullest of those with the worst alert, else the one it is closest to, however far.
 * `unread`: it has no reading; `none`: no limit is known.
 */
export async function readClosestLimit(
  { store, keys }: Sources,
  hubId: number,
  levels: ReadonlyMap<string, AlertLevel>,
  now: number,
): Promise<NearestLimit | 'unread' | 'none'> {
  const [kept, forecasts] = await Promise.all([loadReadings(store, keys, hubId), loadForecasts(store, keys, hubId)])
  if (kept === undefined) return 'unread'
  const rank = ({ id }: Series) => Number(levels.get(id) !== 'critical')
  const [worst] = seriesOf(kept)
    .filter(({ id, limit }) => levels.has(id) && limit !== null)
    .sort((a, b) => rank(a) - rank(b) || (b.percent ?? 0) - (a.percent ?? 0))
  if (worst === undefined) return closestLimit(kept, forecasts, now) ?? 'none'
  return { series: worst, daysLeft: outlookOf(worst, forecasts, now).daysLeft ?? null, nearness: 0 }
}
