import { closestLimit, type NearestLimit, nearestLimit, tenths } from '../limits/forecast/outlook.ts'
import { readForecasts, readReadings } from '../limits/history/stored-readings.ts'
import { hubIdsIn, PARTITIONS } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import type { NearLimitShape } from './shapes/series.ts'
import type { ViewDeps } from './view-deps.ts'

type Sources = Pick<ViewDeps, 'store' | 'keys'>

/** The accounts that are nearest to a limit, nearest first, as their last polls ranked them. */
export async function readNearestLimits(deps: Sources, count: number, now: number): Promise<NearLimitShape[]> {
  const { store, keys } = deps
  const parts = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, number) =>
      store.zrange(keys.partition(number).nearest, '0', String(count - 1), 'WITHSCORES'),
    ),
  )
  const ranked = parts
    .flatMap(rankedIn)
    .sort((a, b) => a.place - b.place || a.hubId - b.hubId)
    .slice(0, count)
  const limits = await Promise.all(ranked.map(({ hubId }) => readNearLimit(deps, hubId, now)))
  return limits.filter((limit) => limit !== undefined)
}

/** The members of a part of the ranking, from Redis' list of them and their places. */
export function rankedIn(part: readonly string[]): { hubId: number; place: number }[] {
  return part.flatMap((member, n) =>
    n % 2 === 0 ? hubIdsIn([member]).map((hubId) => ({ hubId, place: Number(part[n + 1]) })) : [],
  )
}

/** The limit that an account is closest to, however far that is. `unread`: it has no reading; `none`: no limit is known. */
export async function readClosestLimit(
  deps: Sources,
  hubId: number,
  now: number,
): Promise<NearestLimit | 'unread' | 'unreadable' | 'none'> {
  const { kept, forecasts } = await readNumbers(deps, hubId)
  if (kept === undefined) return 'unread'
  return kept === 'unreadable' ? kept : (closestLimit(kept, forecasts, now) ?? 'none')
}

async function readNumbers({ store, keys }: Sources, hubId: number) {
  const [kept, forecasts] = await Promise.all([readReadings(store, keys, hubId), readForecasts(store, keys, hubId)])
  return { kept, forecasts }
}

/** Undefined where the account is near none, or its readings can't be read. */
async function readNearLimit(deps: Sources, hubId: number, now: number): Promise<NearLimitShape | undefined> {
  const [{ kept, forecasts }, hubDomain] = await Promise.all([
    readNumbers(deps, hubId),
    unlessOfOtherType(deps.store.hget(deps.keys.account(hubId).account, 'hubDomain'), null),
  ])
  const nearest = kept === undefined || kept === 'unreadable' ? undefined : nearestLimit(kept, forecasts, now)
  if (nearest === undefined) return undefined
  const { id: _, ...series } = nearest.series
  const { daysLeft } = nearest
  return { hubId, hubDomain: hubDomain ?? '', ...series, daysLeft: daysLeft === null ? null : tenths(daysLeft) }
}
