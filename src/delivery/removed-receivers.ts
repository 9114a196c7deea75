import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { chunksOf } from '../runtime/chunks-of.ts'

interface RemovedReceiversWork {
  store: Store
  keys: Keys
  /** Names of all receivers in this daemon's config. */
  receivers: readonly string[]
}

/** As long as a delivery is tried: a receiver that comes back until then goes on where it was. */
const DROPPED_AFTER_MS = 72 * 3_600_000

/** Drops all that is kept for receivers that no daemon has had in its config for three days. Returns their names. */
export async function dropRemovedReceivers(deps: RemovedReceiversWork, now: number): Promise<string[]> {
  const { store, keys } = deps
  const unseen = await store.zrangebyscore(keys.delivery.receivers, '-inf', now - DROPPED_AFTER_MS)
  const here = unseen.filter((name) => deps.receivers.includes(name))
  if (here.length > 0) await store.zadd(keys.delivery.receivers, ...here.flatMap((name) => [now, name]))
  const removed = unseen.filter((name) => !deps.receivers.includes(name))
  for (const name of removed) await dropReceiver(deps, name, now)
  return removed
}

/** Dying in between does the rest again: its name goes last. */
async function dropReceiver({ store, keys }: RemovedReceiversWork, name: string, now: number): Promise<void> {
  const {
    ledger,
    told,
    lastSent,
    over,
    held,
    acknowledging,
    deliveriesDue,
    dead,
    delivery,
    disabled,
    receiver,
    receivers,
  } = keys.delivery
  const ofName = (field: string) => field.startsWith(`${name}|`)
  for (const zset of [told, over]) {
    for (const some of chunksOf((await store.zrange(zset, 0, '-1')).filter(ofName))) await store.zrem(zset, ...some)
  }
  for (const hash of [lastSent, acknowledging])
    for (const some of chunksOf((await store.hkeys(hash)).filter(ofName))) await store.hdel(hash, ...some)
  for (const some of chunksOf((await store.hkeys(held)).filter(ofName)))
    await store.dropHeld(ledger, now, `the receiver ${name} is no longer in the config`, ...some)
  for (const zset of [deliveriesDue, dead]) {
    for (const id of await store.zrange(zset, 0, '-1')) {
      if ((await store.hget(delivery(id), 'receiver')) === name) await store.forgetDelivery(ledger, id, now, 'any')
    }
  }
  await store.hdel(disabled, name)
  await store.del(receiver(name))
  await store.zrem(receivers, name)
}
