import { randomBytes } from 'node:crypto'
import { join, resolve } from 'node:path'
import { refusesWrites } from '../redis/away.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_ACCOUNT, untilWritten } from '../redis/steps.ts'
import { openDataFolder, readOwnFile, writeOnce } from '../runtime/data-folder.ts'
import { Secret } from '../runtime/secret.ts'
import { type Vault, VaultError, type VaultKey } from './vault.ts'

/** The configured keys are not those that stored tokens need. */
export class KeysError extends VaultError {
  /** All that is wrong, one line each, with the way out. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** By the id of each key that stored values may be encrypted with: a known value, encrypted with it. */
type KnownKeys = ReadonlyMap<string, Buffer>

/**
 * Checks whether the configured keys open the stored values, by known values before any token is touched; the first one is then
 * known too. Throws KeysError. `missing`: whether a known key may be absent, as for a rekey, which repairs that.
 */
export async function checkKeys(
  store: Store,
  keys: Keys,
  vault: Vault,
  missing: 'refused' | 'allowed' = 'refused',
): Promise<void> {
  const [id] = vault.keyIds
  await untilWritten('the known keys', async () => {
    const known = await readKnownKeys(store, keys)
    const problems = judgeKeys(known, vault, missing)
    if (problems.length > 0) throw new KeysError(problems)
    return store
      .registerKey(keys.canaries, keys.fleet, id, canaryOf(vault), ...known.keys())
      .catch((error: unknown) => {
        // Redis may refuse writes, as when its disk is full: stored values can be read all the same.
        if (known.has(id) && refusesWrites(error)) return 'registered'
        throw error
      })
  })
}

function canaryOf(vault: Vault): Buffer {
  return vault.seal(new Secret('plimsoll'), NO_ACCOUNT, 'canary')
}

/** At an interval: a Redis that took over, or was emptied, may not know the key that this process encrypts with. */
export async function keepKnown(store: Store, keys: Keys, vault: Vault): Promise<void> {
  const [id] = vault.keyIds
  if ((await store.hexists(keys.fleet, closedKey(id))) === 0) await store.hsetnx(keys.canaries, id, canaryOf(vault))
}

/** The field of the fleet by which no token is written under a key any more. */
export function closedKey(id: string): string {
  return `closed-key:${id}`
}

/** The problems of the keys in `vault`, one line each. */
export function judgeKeys(known: KnownKeys, vault: Vault, missing: 'refused' | 'allowed'): string[] {
  return [...known].flatMap(([id, canary]) => {
    if (!vault.keyIds.includes(id)) return missing === 'allowed' ? [] : [MISSING_KEY.replace('ID', id)]
    try {
      vault.open(canary, NO_ACCOUNT, 'canary')
      return []
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      return [error.message]
    }
  })
}

const MISSING_KEY =
  'stored tokens may be encrypted with key ID, which is not configured: add it to encryption.keys, ' +
  'or run plimsoll keys rekey with it first'

export async function readKnownKeys(store: Store, keys: Keys): Promise<KnownKeys> {
  return new Map(Object.entries(await store.hgetallBuffer(keys.canaries)))
}

/** Before a key is made: one that is lost must not be replaced by one that opens nothing. Throws KeysError. */
export async function checkNothingIsSealed(store: Store, keys: Keys, file: string): Promise<void> {
  const known = [...(await readKnownKeys(store, keys)).keys()].sort()
  if (known.length === 0) return
  const which = known.includes('k1')
    ? `restore k1 from your backup to ${file}`
    : `name the keys in encryption.keys again (${known.join(', ')})`
  throw new KeysError([
    `tokens are stored, but their key is gone, and no new one is made, which would open none: ${which}`,
  ])
}

/**
 * The key of an installation whose config names none: made at the first start, in the data folder, readable by this user only.
 * With `made` the caller logs that it must be backed up.
 */
export function ownKey(dataDir: string): { key: VaultKey; file: string; made: boolean } {
  const file = ownKeyFile(dataDir)
  openDataFolder(dataDir, 'keys')
  const made = writeOnce(file, () => `${randomBytes(32).toString('base64')}\n`)
  const key = Buffer.from(readOwnFile(file).text.trim(), 'base64')
  if (key.length !== 32) throw new Error(`${file} must hold 32 bytes in base64 on one line: restore it from a backup`)
  return { key: { id: 'k1', key }, file, made }
}

export function ownKeyFile(dataDir: string): string {
  return join(resolve(dataDir), 'keys', 'k1')
}
