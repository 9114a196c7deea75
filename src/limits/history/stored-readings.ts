import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { type AccountForecasts, decodeForecasts } from '../forecast/stored-forecasts.ts'
import type { Readings } from '../readings.ts'
import { readWatch } from '../watch/read-watch.ts'
import { unlessUnreadable } from './packed-bytes.ts'
import { unpackReadings } from './packed-readings.ts'

/** The last numbers of an account; undefined: it was never polled. 'unreadable': its next poll puts them aside. */
export async function readReadings(
  store: Store,
  keys: Keys,
  hubId: number,
): Promise<Readings | 'unreadable' | undefined> {
  const kept = await readWatch(store, keys, hubId)
  if (kept === 'unreadable' || kept === undefined) return kept
  return unlessUnreadable(async () => unpackReadings(hubId, keys.account(hubId), kept.readings))
}

/** The last forecast of an account; undefined for none, or what can't be read: it is made anew within a day. */
export async function readForecasts(store: Store, keys: Keys, hubId: number): Promise<AccountForecasts | undefined> {
  return decodeForecasts(await store.get(keys.account(hubId).forecast))
}
