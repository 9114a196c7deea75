import { type NearestLimit, nearestLimit, tenths } from '../limits/forecast/outlook.ts'
import { readForecasts, readReadings } from '../limits/history/kept-readings.ts'
import { hubIdsIn, PARTITIONS } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import type { NearLimitShape } from './shapes/series.ts'
import type { ViewDeps } from './view-deps.ts'

export type NearLimit = NearLimitShape

type Sources = Pick<ViewDeps, 'store' | 'keys'>

/** The accounts that are nearest to a limit, nearest first, as their last polls ranked them. */
export async function readNearestLimits(deps: Sources, count: number, now: number): Promise<NearLimit[]> {
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

/** Undefined where the account is near none. */
export async function readNearestLimit(
  { store, keys }: Sources,
  hubId: number,
  now: number,
): Promise<NearestLimit | 'unreadable' | undefined> {
  const [kept, forecasts] = await Promise.all([readReadings(store, keys, hubId), readForecasts(store, keys, hubId)])
  return kept === undefined || kept === 'unreadable' ? kept : nearestLimit(kept, forecasts, now)
}

/** Undefined, too, where its readings can't be read: it is not known any more how near it is. */
async function readNearLimit(deps: Sources, hubId: number, now: number): Promise<NearLimit | undefined> {
  const [nearest, hubDomain] = await Promise.all([
    readNearestLimit(deps, hubId, now),
    unlessOfOtherType(deps.store.hget(deps.keys.account(hubId).account, 'hubDomain'), null),
  ])
  if (nearest === undefined || nearest === 'unreadable') return undefined
  const { id: _, ...series } = nearest.series
  const { daysLeft } = nearest
  return { hubId, hubDomain: hubDomain ?? '', ...series, daysLeft: daysLeft === null ? null : tenths(daysLeft) }
}
