import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { chunksOf } from '../runtime/chunks-of.ts'

interface RemovedReceiversWork {
  store: Store
  keys: Keys
  /** Names of all receivers in this daemon's config. */
  receivers: readonly string[]
}

/** The time for which a delivery is tried: a receiver that comes back until then goes on where it was. */
const DROPPED_AFTER_MS = 72 * 3_600_000

/** Drops all that is kept for receivers that no daemon has had in its config for three days. Returns their names. */
export async function dropRemovedReceivers(deps: RemovedReceiversWork, now: number): Promise<string[]> {
  const { store, keys } = deps
  const unseen = await store.zrangebyscore(keys.delivery.receivers, '-inf', now - DROPPED_AFTER_MS)
  const here = unseen.filter((name) => deps.receivers.includes(name))
  if (here.length > 0) await store.zadd(keys.delivery.receivers, ...here.flatMap((name) => [now, name]))
  const removed = unseen.filter((name) => !deps.receivers.includes(name))
  for (const name of removed) await dropReceiver(deps, name)
  return removed
}

/** Dying in between does the rest again: its name goes last. */
async function dropReceiver({ store, keys }: RemovedReceiversWork, name: string): Promise<void> {
  const { waiting, receiversDue, pending, dead, delivery, disabled, receivers, ...of } = keys.delivery
  const ofName = (field: string) => field.startsWith(`${name}|`)
  for (const some of chunksOf((await store.zrange(waiting, 0, '-1')).filter(ofName))) await store.zrem(waiting, ...some)
  for (const id of await store.zrange(pending(name), 0, '-1')) await store.forgetDelivery(receiversDue, id, 'any')
  for (const id of await store.zrange(dead, 0, '-1')) {
    if ((await store.hget(delivery(id), 'receiver')) === name) await store.forgetDelivery(receiversDue, id, 'any')
  }
  await store.hdel(disabled, name)
  await store.zrem(receiversDue, name)
  await store.zrem(keys.digests.sent, name)
  const own = [pending, of.lines, of.known, of.recent, of.held, of.grouped, of.receiver]
  await store.del(...own.map((key) => key(name)))
  await store.zrem(receivers, name)
}
