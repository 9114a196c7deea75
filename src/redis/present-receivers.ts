import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/** A receiver that no daemon has had in its config for so long is gone. */
const GONE_AFTER_MS = 10 * 60_000

/** Receivers that a daemon has in its config. While no daemon runs, those of the last. */
export async function readPresentReceivers(store: Store, keys: Keys): Promise<string[]> {
  const { receivers } = keys.delivery
  const [, newest] = await store.zrevrange(receivers, 0, 0, 'WITHSCORES')
  return store.zrangebyscore(receivers, Number(newest ?? 0) - GONE_AFTER_MS, '+inf')
}

/** When the first of these receivers is sent to, or the claim of one ends, ms; undefined: nothing is on its way to them. */
export async function readNextAttempt({ store, keys }: { store: Store; keys: Keys }, receivers: readonly string[]) {
  // No receiver has an empty name: the command needs one.
  const scores = await store.zmscore(keys.delivery.receiversDue, '', ...receivers)
  const moments = scores.flatMap((score) => (score === null ? [] : [Math.floor(Number(score))]))
  return moments.length === 0 ? undefined : Math.min(...moments)
}
