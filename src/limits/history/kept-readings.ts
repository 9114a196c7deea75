import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { unlessOfOtherType } from '../../redis/other-type.ts'
import { type AccountForecasts, decodeForecasts } from '../forecast/forecast-account.ts'
import type { Readings } from '../readings.ts'
import { unlessUnreadable } from './packed-bytes.ts'
import { keptReadings } from './packed-readings.ts'

/** No readings are empty: they can't be read. */
const NO_BYTES = Buffer.alloc(0)

/** The last numbers of an account; undefined: it was never polled. 'unreadable': its next poll puts them aside. */
export async function readReadings(
  store: Store,
  keys: Keys,
  hubId: number,
): Promise<Readings | 'unreadable' | undefined> {
  const own = keys.account(hubId)
  const stored = await unlessOfOtherType(store.getBuffer(own.readings), NO_BYTES)
  return unlessUnreadable(async () => keptReadings(hubId, own, stored))
}

/** The last forecast of an account; undefined for none, or what can't be read: it is made anew within a day. */
export async function readForecasts(store: Store, keys: Keys, hubId: number): Promise<AccountForecasts | undefined> {
  return decodeForecasts(await unlessOfOtherType(store.get(keys.account(hubId).forecast), null))
}
