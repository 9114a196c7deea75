import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NOBODY } from '../redis/steps.ts'
import { Secret } from '../runtime/secret.ts'
import { type Vault, VaultError } from './vault.ts'

/** The configured keys are not those that stored tokens need. */
export class KeysError extends VaultError {
  /** All that is wrong, one line each, with the way out. */
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('\n'))
    this.problems = problems
  }
}

/** What is stored about keys. */
export interface KnownKeys {
  /** By key id: a known value, encrypted with that key. */
  canaries: ReadonlyMap<string, Buffer>
  /** Ids of keys that stored values may be encrypted with: each was the first key of a process. */
  used: readonly string[]
}

/**
 * Whether the configured keys open what is stored, tried on known values before any token is touched; then they are
 * known, too. A second key that no process has written with yet is known but not used: a process without it goes on.
 * Throws KeysError. `missing`: whether a used key may be left out, which only a rekey can repair.
 */
export async function checkKeys(
  store: Store,
  keys: Keys,
  vault: Vault,
  missing: 'refused' | 'allowed' = 'refused',
): Promise<void> {
  for (;;) {
    const known = await readKnownKeys(store, keys)
    const problems = judgeKeys(known, vault, missing)
    if (problems.length > 0) throw new KeysError(problems)
    const registered = await store.registerKeys(
      ...[keys.vault.canaries, keys.vault.used, missing === 'allowed' ? 'yes' : 'no'],
      ...vault.keyIds.flatMap((id) => [
        id,
        known.canaries.get(id) ?? '',
        vault.seal(new Secret('plimsoll'), NOBODY, 'canary', id),
      ]),
    )
    if (registered !== 'stale') return
  }
}

/** What is wrong with the keys of `vault`, one line each. */
export function judgeKeys(known: KnownKeys, vault: Vault, missing: 'refused' | 'allowed'): string[] {
  const problems = new Set<string>()
  const canaries = vault.keyIds.flatMap((id) => known.canaries.get(id) ?? [])
  for (const canary of canaries) {
    try {
      vault.open(canary, NOBODY, 'canary')
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      problems.add(error.message)
    }
  }
  if (missing === 'allowed') return [...problems]
  for (const id of known.used) {
    if (vault.keyIds.includes(id)) continue
    problems.add(
      `stored tokens may be encrypted with key ${id}, which is not configured: add it to encryption.keys, ` +
        'or run plimsoll keys rekey with it first',
    )
  }
  return [...problems]
}

export async function readKnownKeys(store: Store, keys: Keys): Promise<KnownKeys> {
  const [canaries, used] = await Promise.all([
    store.hgetallBuffer(keys.vault.canaries),
    store.smembers(keys.vault.used),
  ])
  return { canaries: new Map(Object.entries(canaries)), used }
}
