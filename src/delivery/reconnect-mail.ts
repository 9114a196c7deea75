import { randomBytes } from 'node:crypto'
import type { Alert, Message } from '../alerts/alert.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'

/** Longer than the longest time between two. */
const REMEMBERED_MS = 14 * 86_400_000

/**
 * Puts a mail on its way that asks the customer of an alert's account to connect it again. Returns the id of its delivery;
 * undefined: the mail before is still on its way, or younger than `everyMs`.
 */
export async function planReconnectMail(
  { store, keys }: { store: Store; keys: Keys },
  alert: Alert & { account: object },
  { receiver, everyMs }: { receiver: string; everyMs: number },
  now: number,
): Promise<string | undefined> {
  const { hubId } = alert.account
  const message: Message = {
    type: 'account.reconnect',
    timestamp: new Date(now).toISOString(),
    data: { groupKey: `account=${hubId}`, truncated: 0, alerts: [alert] },
  }
  const id = `msg_${randomBytes(12).toString('hex')}`
  const planned = await store.planReconnectMail(
    keys.delivery.reconnectMail(hubId),
    now,
    everyMs,
    id,
    receiver,
    JSON.stringify(message),
    REMEMBERED_MS,
  )
  return planned === 'planned' ? id : undefined
}
