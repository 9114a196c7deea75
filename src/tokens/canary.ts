import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { Secret } from '../runtime/secret.ts'
import type { Vault } from './vault.ts'

/** No account has this id; what is sealed with it belongs to the installation itself. */
const NOBODY = 0

/**
 * Whether the configured keys open what is stored, tried on one known value before any token is touched. The first
 * start writes it. Throws VaultError when they don't.
 */
export async function checkCanary(store: Store, keys: Keys, vault: Vault): Promise<void> {
  const fresh = vault.seal(new Secret('plimsoll'), NOBODY, 'canary')
  // NX: of several daemons that start for the first time with different keys, all but one are told here.
  await store.set(keys.canary, fresh, 'NX')
  await openCanary(store, keys, vault)
}

/** The same, changing nothing: false if nothing was ever stored. Throws VaultError when the keys don't open it. */
export async function openCanary(store: Store, keys: Keys, vault: Vault): Promise<boolean> {
  const stored = await store.getBuffer(keys.canary)
  if (stored !== null) vault.open(stored, NOBODY, 'canary')
  return stored !== null
}
