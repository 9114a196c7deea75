import { claimReceivers } from '../../jobs/deliver.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import type { AttemptRecord } from '../../src/delivery/after-attempt.ts'
import { type Begun, Deliveries } from '../../src/delivery/deliveries.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

/** Deliveries that have not arrived and were not given up, of one receiver after the other, each in their order. */
export async function pendingIds(store: Store, keys: Keys): Promise<string[]> {
  const receivers = await store.zrange(keys.delivery.receivers, 0, '-1')
  return (await Promise.all(receivers.map((name) => store.zrange(keys.delivery.pending(name), 0, '-1')))).flat()
}

/** As a worker takes up all that is due, one after the other, and each comes to an outcome. Without one it stays under way. `at`: by whoever records it. */
export async function takeDue(
  { store, keys }: { store: Store; keys: Keys },
  outcomeOf: (delivery: Begun) => Partial<AttemptRecord> | undefined = () => ({ outcome: 'delivered' }),
  at?: number,
): Promise<Begun[]> {
  const deliveries = new Deliveries(store, keys)
  const names = await store.zrange(keys.delivery.receivers, 0, '-1')
  const taken: Begun[] = []
  for (const { receiver, claim } of await claimReceivers({ store, keys, due: new DueSets(store, keys) }, names)) {
    const underWay: string[] = []
    let held = { receiver, claim }
    for (;;) {
      const begun = await deliveries.begin(held, underWay)
      if (begun.is !== 'begun') break
      held = { receiver, claim: begun.claim }
      // Tried already, and due again: the clock of Redis is ahead of the test's.
      if (taken.some(({ id }) => id === begun.id)) {
        await deliveries.leave(held, begun.now)
        break
      }
      taken.push(begun)
      const record = outcomeOf(begun)
      if (record === undefined) underWay.push(begun.id)
      else {
        const whole = { outcome: 'delivered' as const, nextAt: null, reason: 'so', ms: 1, ...record }
        await deliveries.record(begun, whole, at ?? begun.now)
      }
    }
  }
  return taken
}
