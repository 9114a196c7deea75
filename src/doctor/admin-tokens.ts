import { AdminTokenStore } from '../http/access/admin-tokens.ts'
import { createVault } from '../tokens/vault.ts'
import { keysOf } from './encryption.ts'
import { type Finding, ok, warn } from './finding.ts'
import type { Installation } from './installation.ts'

const NAME = 'admin-tokens'

/** Whether each named admin token that is stored was made by this installation: others open nothing. */
export async function checkAdminTokens(installation: Installation): Promise<Finding> {
  const ring = keysOf(installation)
  if (ring === undefined) return ok(NAME, 'there is no key yet to make one with')
  const vault = createVault(ring)
  const stored = await installation.redis.store
    .then((store) => new AdminTokenStore(store, installation.keys, vault).list())
    .catch(() => undefined)
  if (stored === undefined) return warn(NAME, 'not known: Redis does not answer')
  const ignored = stored.filter(({ isOurs }) => !isOurs).length
  if (ignored === 0) return ok(NAME, stored.length === 0 ? 'none has a name' : `${stored.length} with a name`)
  const fix = 'plimsoll admin-tokens list names them: remove them, and make anew those that you know'
  return warn(NAME, `${ignored} of ${stored.length} were not made by this installation, and open nothing`, fix)
}
