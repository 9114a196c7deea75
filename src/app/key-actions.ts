import type { Who } from '../audit/audited.ts'
import { AdminTokenStore } from '../http/access/admin-tokens.ts'
import type { Scope } from '../http/access/scopes.ts'
import type { Secret } from '../runtime/secret.ts'
import { countOf } from '../text/format-number.ts'
import { type Rekeyed, type RekeyWatcher, rekeyAll } from '../tokens/rekey.ts'
import type { Services } from './services.ts'
import type { Stores } from './stores.ts'

/* What commands do to what opens the installation: here it is carried out, and noted in the audit. Each takes who asks. */

export async function addAdminToken(
  { store, keys, vault, clock, audit }: Stores,
  name: string,
  scopes: readonly Scope[],
  who: Who,
): Promise<Secret | 'taken'> {
  const token = await new AdminTokenStore(store, keys, vault).add(name, scopes, clock.now())
  if (token !== 'taken')
    await audit.note({ action: 'admin-token.added', who, subject: name, detail: scopes.join(', ') }, { name, scopes })
  return token
}

export async function removeAdminToken(
  { store, keys, vault, audit }: Stores,
  name: string,
  who: Who,
): Promise<'removed' | 'unknown'> {
  const outcome = await new AdminTokenStore(store, keys, vault).remove(name)
  if (outcome === 'removed') await audit.note({ action: 'admin-token.removed', who, subject: name }, { name })
  return outcome
}

/** Encrypts everything anew with the first key. */
export async function rekeyStored(services: Services, watcher: RekeyWatcher, who: Who): Promise<Rekeyed> {
  const { store, keys, vault, config, audit } = services
  const rekeyed = await rekeyAll({ ...services, dataDir: config.dataDir }, watcher)
  // Every daemon has the first key by now: none takes an answer that is sealed with it for another installation's.
  if (rekeyed.is === 'clean') await new AdminTokenStore(store, keys, vault).sealAnew()
  const detail = `${rekeyed.is}: ${countOf(rekeyed.replaced, 'value')} with key ${rekeyed.keyId}`
  await audit.note({ action: 'keys.rekeyed', who, detail })
  return rekeyed
}
