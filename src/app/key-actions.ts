import type { Who } from '../audit/audited.ts'
import { AdminTokenStore, faultOfName, tokenFileIn } from '../http/access/admin-tokens.ts'
import type { Scope } from '../http/access/scopes.ts'
import type { KnownAdminToken, RemovedAdminToken } from '../operations/actions.ts'
import { wrongField } from '../operations/refusal.ts'
import type { Secret } from '../runtime/secret.ts'
import { countOf } from '../text/format-number.ts'
import { type Rekeyed, type RekeyWatcher, rekeyAll } from '../tokens/rekey.ts'
import type { Services } from './services.ts'
import type { Stores } from './stores.ts'

/* The actions on what opens the installation: here they are carried out, and noted in the audit. Each takes who asks. */

export async function readAdminTokens({ store, keys, vault }: Stores): Promise<KnownAdminToken[]> {
  const tokens = await new AdminTokenStore(store, keys, vault).list()
  return tokens.map(({ name, scopes, createdAt, lastUsedAt, isOurs }) => ({
    name,
    scopes,
    createdAt,
    lastUsedAt,
    isOurs,
  }))
}

export async function makeAdminToken(
  { store, keys, vault, clock, audit }: Stores,
  name: string,
  scopes: readonly Scope[],
  who: Who,
): Promise<Secret | 'taken'> {
  const fault = faultOfName(name)
  if (fault !== undefined) throw wrongField('name', fault)
  const token = await new AdminTokenStore(store, keys, vault).add(name, scopes, clock.now())
  if (token !== 'taken')
    await audit.note({ action: 'admin-token.added', who, subject: name, detail: scopes.join(', ') }, { name, scopes })
  return token
}

export async function endAdminToken(
  { config, store, keys, vault, audit }: Stores,
  name: string,
  who: Who,
): Promise<RemovedAdminToken> {
  const tokens = new AdminTokenStore(store, keys, vault)
  const is = await tokens.remove(name)
  if (is === 'removed') await audit.note({ action: 'admin-token.removed', who, subject: name }, { name })
  const left = (await tokens.list()).filter(({ isOurs }) => isOurs).length
  const { http, dataDir } = config
  const opens = http.adminToken === undefined ? `the token in ${tokenFileIn(dataDir)}` : 'http.adminToken of the config'
  return { is, left, opens }
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
