import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { UnreadableBytes } from '../history/packed-bytes.ts'
import { decodeWatch, type StoredWatch } from './packed-watch.ts'

/** The watch of an account; undefined: it was never polled. 'unreadable': its next poll puts it aside. */
export async function readWatch(
  store: Store,
  keys: Keys,
  hubId: number,
): Promise<StoredWatch | 'unreadable' | undefined> {
  const stored = await store.getBuffer(keys.account(hubId).watch)
  return stored === null ? undefined : readableWatch(stored)
}

export function readableWatch(stored: Buffer): StoredWatch | 'unreadable' {
  try {
    return decodeWatch(stored)
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    return 'unreadable'
  }
}
