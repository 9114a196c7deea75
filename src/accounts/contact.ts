import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
import { isMailbox } from '../runtime/mailbox.ts'

type OfStore = { store: Store; keys: Keys }

/** Keeps an address as the account's own contact; null takes it away. The address was checked. */
export function changeContact({ store, keys }: OfStore, hubId: number, address: string | null) {
  return store.changeContact(keys.own(hubId), address ?? '')
}

/** The contacts of those accounts that have one. */
export async function readContacts({ store, keys }: OfStore, hubIds: readonly number[]): Promise<Map<number, string>> {
  const found = await Promise.all(
    hubIds.map((hubId) => unlessOfOtherType(store.hget(keys.account(hubId).account, 'contact'), null)),
  )
  return new Map(hubIds.flatMap((hubId, n) => (isMailbox(found[n] ?? '') ? [[hubId, found[n] ?? '']] : [])))
}
