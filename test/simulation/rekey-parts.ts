import type { Store } from '../../src/redis/connect.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { type Rekeyed, rekeyAll } from '../../src/tokens/rekey.ts'
import { createVault, type Vault, type VaultKey } from '../../src/tokens/vault.ts'
import { SILENCE_S } from '../../src/tokens/vault-keys.ts'
import type { Scene } from './daemon.ts'

export const OLD_KEY: VaultKey = { id: 'k1', key: Buffer.alloc(32, 1) }
export const NEW_KEY: VaultKey = { id: 'k2', key: Buffer.alloc(32, 2) }

/** What a daemon does about keys. */
export interface RekeyParts {
  /** Takes the config as it is now over, and says so. */
  reload(): Promise<unknown>
  /** Says that it writes no more. */
  leave(): Promise<unknown>
  /** Encrypts all anew with the new key: a command of its own. */
  rekey(): Promise<Rekeyed>
}

const REPORT_EVERY_MS = 3_000
const watcher = { progress: () => {}, waiting: () => {}, signal: new AbortController().signal }

export function rekeyParts(
  { keys, config }: Scene,
  name: string,
  vault: Vault,
  store: Store,
  clock: Clock,
): RekeyParts {
  const { used, writers, written } = keys.vault
  const say = (keyId: string, ...others: string[]) =>
    store.reportWriter(used, writers, written, name, keyId, SILENCE_S, ...others)
  const report = async () => {
    await say(vault.keyIds[0])
  }
  if (config.rekeys) {
    // The first of all that it asks for.
    void report()
    clock.every(REPORT_EVERY_MS, report)
  }
  return {
    reload: async () => {
      vault.replace(config.keys)
      await report()
    },
    leave: () => say('', vault.keyIds[0]),
    rekey: () => rekeyAll({ store, keys, vault: createVault([NEW_KEY, OLD_KEY]), clock }, watcher),
  }
}
