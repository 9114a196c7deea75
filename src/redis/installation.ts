import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/**
 * By this a daemon knows that Redis still holds what it began with: a Redis that was emptied takes every command, and finds
 * nothing to do. `fresh` is the mark of an installation that has none yet. Returns the one that counts.
 */
export async function markInstallation(store: Store, keys: Keys, fresh: string): Promise<string> {
  await store.setnx(keys.installation, fresh)
  return (await store.get(keys.installation)) ?? fresh
}

export function readInstallation(store: Store, keys: Keys): Promise<string | null> {
  return store.get(keys.installation)
}
