import { isMailbox } from '../runtime/mailbox.ts'
import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/** The contacts of those accounts that have one. */
export async function readContacts(
  { store, keys }: { store: Store; keys: Keys },
  hubIds: readonly number[],
): Promise<Map<number, string>> {
  const found = await Promise.all(hubIds.map((hubId) => store.hget(keys.account(hubId).account, 'contact')))
  return new Map(hubIds.flatMap((hubId, n) => (isMailbox(found[n] ?? '') ? [[hubId, found[n] ?? '']] : [])))
}
