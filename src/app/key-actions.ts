import { DaemonStore } from '../heartbeat/daemons.ts'
import { AdminTokenStore, faultOfName, tokenFileIn } from '../http/access/admin-tokens.ts'
import type { Actions } from '../operations/actions.ts'
import { wrongField } from '../operations/refusal.ts'
import { countOf } from '../text/format-number.ts'
import { rekeyAll } from '../tokens/rekey.ts'
import type { Services } from './services.ts'

/** Actions on what opens the installation. */
export function actionsOnKeys(services: Services, failFast: Services) {
  const { store, keys, vault, clock, audit, config } = failFast
  const tokens = new AdminTokenStore(store, keys, vault)
  return {
    adminTokens: () => tokens.list(),
    async addAdminToken(name, scopes, who) {
      const fault = faultOfName(name)
      if (fault !== undefined) throw wrongField('name', fault)
      const token = await tokens.add(name, scopes, clock.now())
      const deed = { action: 'admin-token.added', who, subject: name, detail: scopes.join(', ') } as const
      if (token !== 'taken') await audit.note(deed, { name, scopes })
      return token
    },
    async removeAdminToken(name, who) {
      const is = await tokens.remove(name)
      if (is === 'removed') await audit.note({ action: 'admin-token.removed', who, subject: name }, { name })
      const left = (await tokens.list()).filter(({ isOurs }) => isOurs).length
      const isOfConfig = config.http.adminToken !== undefined
      const opens = isOfConfig ? 'http.adminToken of the config' : `the token in ${tokenFileIn(config.dataDir)}`
      return { is, left, opens }
    },
    async rekey(watcher, who) {
      const writers = () => new DaemonStore(services.store, keys).writers(clock.now())
      const sealAdminTokens = () => new AdminTokenStore(services.store, keys, vault).sealAnew()
      const rekeyed = await rekeyAll({ ...services, writers, sealAdminTokens }, watcher)
      const detail = `${rekeyed.is}: ${countOf(rekeyed.replaced, 'value')} with key ${rekeyed.keyId}`
      await services.audit.note({ action: 'keys.rekeyed', who, detail })
      return rekeyed
    },
  } satisfies Partial<Actions>
}
