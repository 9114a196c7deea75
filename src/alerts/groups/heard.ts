import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Alert } from '../alert.ts'
import { alertOf } from '../matter.ts'
import { heldField } from './held.ts'

/** What a receiver has heard of an alert: sent as firing at `at` (ms); or its end was sent, or dropped with all that it did. */
export type Heard = { is: 'nothing' } | { is: 'told'; at: number } | { is: 'over' }

/** What is an event by itself has no end that would have to follow. */
export function hasEnd({ kind }: Pick<Alert, 'kind'>): boolean {
  return kind !== 'limit-changed' && kind !== 'test'
}

/** Read at a time. */
const CHUNK = 1_000

/** What the receiver has heard of each of the alerts. */
export async function readHeard(
  { store, keys }: { store: Store; keys: Keys },
  receiver: string,
  alerts: readonly Alert[],
): Promise<(alert: Alert) => Heard> {
  const fields = [...new Set(alerts.filter(hasEnd).map((alert) => heldField(receiver, alertOf(alert))))]
  const heard = new Map<string, Heard>()
  for (let from = 0; from < fields.length; from += CHUNK) {
    const some = fields.slice(from, from + CHUNK)
    const [told, over] = await Promise.all([
      store.zmscore(keys.delivery.told, ...some),
      store.zmscore(keys.delivery.over, ...some),
    ])
    for (const [n, field] of some.entries()) {
      if (over[n] != null) heard.set(field, { is: 'over' })
      else if (told[n] != null) heard.set(field, { is: 'told', at: Number(told[n]) })
    }
  }
  return (alert) => heard.get(heldField(receiver, alertOf(alert))) ?? { is: 'nothing' }
}
