import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { isMailbox } from '../runtime/mailbox.ts'
import type { Account } from './account.ts'

type OfStore = { store: Store; keys: Keys }

/** Keeps an address as the account's own contact; null takes it away. The address was checked. */
export function changeContact({ store, keys }: OfStore, hubId: number, address: string | null) {
  return store.changeContact(keys.own(hubId), address ?? '')
}

type Addressed = Pick<Account, 'state' | 'contact' | 'user' | 'pollBlocked'>

/**
 * Addressee of a message about an account as it is now; one that asks to connect it again also reaches the installer of
 * the app.
 */
export function addresseeFor(account: Addressed | undefined, isToReconnect: boolean) {
  const none = (why: string) => ({ is: 'none', why }) as const
  if (account === undefined) return none('its account is forgotten')
  if (isToReconnect && account.state !== 'reauthorize' && account.pollBlocked === null)
    return none('its account need not be connected again any more')
  const address = account.contact ?? (isToReconnect ? installerOf(account) : undefined)
  return address === undefined ? none('its account has no contact any more') : ({ is: 'found', address } as const)
}

/** Installer of the app, where the provider names them by an address. */
export function installerOf({ user }: Pick<Account, 'user'>): string | undefined {
  return user !== null && isMailbox(user) ? user : undefined
}
