import { encodeWatch } from '../../src/limits/watch/packed-watch.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import { NEW_WATCH, type Watch } from '../../src/limits/watch/watch.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

/** What polls know of an account, changed behind their back; `readings`: packed, undefined: as they are. */
export async function changeWatch(
  store: Store,
  keys: Keys,
  hubId: number,
  change: Partial<Watch>,
  readings?: Buffer,
): Promise<void> {
  const kept = await readWatch(store, keys, hubId)
  if (kept === 'unreadable') throw new Error(`the watch of account ${hubId} can't be read`)
  const watch = { ...(kept?.watch ?? NEW_WATCH), ...change }
  await store.set(keys.account(hubId).watch, encodeWatch(watch, readings ?? kept?.readings))
}
