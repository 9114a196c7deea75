import type { Clock } from '../runtime/clock.ts'
import { atInterval } from '../runtime/concurrency.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import { onReady, type Store } from './connect.ts'
import { checkFormat } from './format.ts'
import type { Keys } from './keys.ts'

const ASK_EVERY_MS = 1_000

interface Data {
  store: Store
  keys: Keys
  clock: Clock
}

/** Before anything else is read or written. Waits for Redis; throws FormatError. */
export async function openData(data: Data, lifecycle: Lifecycle): Promise<void> {
  await followTime(data, lifecycle)
  await checkFormat(data.store, data.keys)
}

/**
 * Sets the clock by Redis every second; resolves after the first answer. While Redis is away it goes on by the steady clock:
 * no machine's wall clock is asked, so it may be set, or wrong, without harm.
 */
async function followTime({ store, keys, clock }: Data, lifecycle: Lifecycle): Promise<void> {
  const ask = async () => {
    const askedAt = clock.steady()
    clock.follow(await store.readTime(keys.fleet), askedAt, clock.steady())
  }
  // Before the first answer Redis may have been awaited for long: that one says little.
  await ask()
  await ask()
  // The server may have taken over from another one, or this machine has slept.
  onReady(store, () => void ask().catch(() => undefined))
  const end = atInterval(ask, ASK_EVERY_MS)
  lifecycle.onClose('following the time of Redis', async () => end())
}
