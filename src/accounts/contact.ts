import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { isMailbox } from '../runtime/mailbox.ts'
import type { Account, Addressed } from './account.ts'

/** Keeps an address as the account's own contact; null takes it away. The address was checked. */
export async function changeContact(
  { store, keys }: { store: Store; keys: Keys },
  hubId: number,
  address: string | null,
): Promise<'changed' | 'unknown'> {
  const own = keys.own(hubId)
  if ((await store.hget(own, 'state')) === null) return 'unknown'
  await (address === null ? store.hdel(own, 'contact') : store.hset(own, 'contact', address))
  return 'changed'
}

/**
 * Addressee of a message about an account as it is now; one that asks to connect it again also reaches the installer of
 * the app. `asksFor`: the kind of the alert that it asks for. Whether polls that fail need a new connection, their alert says; they
 * are no reason to ask because of tokens that work again.
 */
export function addresseeFor(account: Addressed | undefined, asksFor?: string) {
  const none = (why: string) => ({ is: 'none', why }) as const
  if (account === undefined) return none('the account is forgotten')
  const { state, pollBlocked, pollFailure } = account
  const isWell = state !== 'reauthorize' && (asksFor !== 'poll' || (pollBlocked === null && pollFailure === null))
  if (asksFor !== undefined && isWell) return none('neither its tokens nor its polls need a new connection now')
  const address = account.contact ?? (asksFor === undefined ? undefined : installerOf(account))
  return address === undefined ? none('the account has no contact') : ({ is: 'found', address } as const)
}

/** Installer of the app, where the provider names them by an address. */
function installerOf({ user }: Pick<Account, 'user'>): string | undefined {
  return user !== null && isMailbox(user) ? user : undefined
}
