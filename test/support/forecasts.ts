import { type AccountForecasts, storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import { loadReadings } from '../../src/limits/load-readings.ts'
import { nearestLimit } from '../../src/limits/nearest-limit.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

/** Forecasts as they are made once a day, and the account's place in the ranking as its next poll leaves it. */
export async function foresee(
  store: Store,
  keys: Keys,
  hubId: number,
  { at, rising = {}, tooFew = {} }: Pick<AccountForecasts, 'at'> & Partial<AccountForecasts>,
): Promise<void> {
  const told = { at, rising, tooFew }
  await storeForecasts(store, keys, hubId, told)
  const kept = await loadReadings(store, keys, hubId)
  const nearest = typeof kept === 'object' ? nearestLimit(kept, told, at) : undefined
  if (nearest !== undefined) await store.zadd(keys.nearest, nearest.nearness, hubId)
}
