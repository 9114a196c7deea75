import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Deliveries, DeliveryHead } from './deliveries.ts'

export interface WaitingDelivery extends DeliveryHead {
  /** When it is tried next, ms. */
  nextAt: number
}

interface ListDeps {
  store: Store
  keys: Keys
  deliveries: Deliveries
}

/** Deliveries on their way, the next to be tried first. */
export async function waitingDeliveries(deps: ListDeps, most: number): Promise<WaitingDelivery[]> {
  const found = await deps.store.zrange(deps.keys.delivery.deliveriesDue, '0', String(most - 1), 'WITHSCORES')
  const due = new Map<string, number>()
  for (let n = 0; n + 1 < found.length; n += 2) due.set(found[n] ?? '', Number(found[n + 1]))
  const heads = await headsOf(deps.deliveries, [...due.keys()])
  return heads.map((head) => ({ ...head, nextAt: due.get(head.id) ?? 0 }))
}

/** Deliveries that were given up, the newest first. */
export async function deadDeliveries({ store, keys, deliveries }: ListDeps, most: number): Promise<DeliveryHead[]> {
  return headsOf(deliveries, await store.zrevrange(keys.delivery.dead, 0, most - 1))
}

async function headsOf(deliveries: Deliveries, ids: readonly string[]): Promise<DeliveryHead[]> {
  const heads = await Promise.all(ids.map((id) => deliveries.head(id)))
  return heads.filter((head) => head !== undefined)
}
