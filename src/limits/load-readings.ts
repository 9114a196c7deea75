import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { type AccountForecasts, decodeForecasts } from './forecast/stored-forecasts.ts'
import { loadPollState } from './poll-state-text.ts'
import type { Readings } from './readings.ts'

/** The last numbers of an account; undefined: nothing was ever read. */
export async function loadReadings(store: Store, keys: Keys, hubId: number): Promise<Readings | undefined> {
  return (await loadPollState(store, keys, hubId))?.readings.all
}

/** The last forecast of an account; undefined for none, or what can't be read: it is made anew within a day. */
export async function loadForecasts(store: Store, keys: Keys, hubId: number): Promise<AccountForecasts | undefined> {
  return decodeForecasts(await store.get(keys.account(hubId).forecast))
}
