import { DaemonStore } from '../../src/heartbeat/daemons.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { type Rekeyed, rekeyAll } from '../../src/tokens/rekey.ts'
import { createVault, type Vault, type VaultKey } from '../../src/tokens/vault.ts'
import { checkKeys, keepKnown } from '../../src/tokens/vault-keys.ts'
import type { Scene } from './daemon.ts'

export const OLD_KEY: VaultKey = { id: 'k1', key: Buffer.alloc(32, 1) }
export const NEW_KEY: VaultKey = { id: 'k2', key: Buffer.alloc(32, 2) }

/** What a daemon does about keys. */
export interface RekeyParts {
  /** Takes the config as it is now over, and says so. */
  reload(): Promise<unknown>
  /** Says that it writes no more. */
  leave(): Promise<unknown>
  /** Encrypts all anew with the new key: a command of its own. `judges` hears the moment by which it tells who writes. */
  rekey(judges: (now: number) => void): Promise<Rekeyed>
}

const REPORT_EVERY_MS = 10_000
const sealAdminTokens = async () => {}
const watcher = { progress: () => {}, waiting: () => {}, signal: new AbortController().signal }

export function rekeyParts(
  { keys, config }: Scene,
  name: string,
  vault: Vault,
  store: Store,
  clock: Clock,
): RekeyParts {
  const daemons = new DaemonStore(store, keys)
  const startedAt = clock.now()
  const begin = () => checkKeys(store, keys, vault, 'allowed')
  const report = async () => {
    const [keyId] = vault.keyIds
    await keepKnown(store, keys, vault)
    await daemons.report({
      name,
      version: '',
      startedAt,
      lastSeenAt: clock.now(),
      config: '',
      roles: ['worker'],
      keyId,
    })
  }
  if (config.rekeys) {
    // The first of all that it asks for.
    void begin().then(report)
    clock.every(REPORT_EVERY_MS, report)
  }
  return {
    reload: async () => {
      vault.replace(config.keys)
      await begin()
      await report()
    },
    leave: () => daemons.leave(name),
    rekey: (judges) => {
      const writers = () => {
        const now = clock.now()
        judges(now)
        return daemons.writers(now)
      }
      return rekeyAll({ store, keys, vault: createVault([NEW_KEY, OLD_KEY]), clock, writers, sealAdminTokens }, watcher)
    },
  }
}
