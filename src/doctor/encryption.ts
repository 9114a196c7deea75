import { existsSync } from 'node:fs'
import { createVault, type VaultKey } from '../tokens/vault.ts'
import { judgeKeys, ownKey, ownKeyFile, readKnownKeys } from '../tokens/vault-keys.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { Installation } from './installation.ts'

const NAME = 'encryption'

/** Whether the keys open what is stored. Makes no key and stores nothing: that is for the first start to do. */
export async function checkEncryption(installation: Installation): Promise<Finding[]> {
  const { redis, keys } = installation
  const vaultKeys = keysOf(installation)
  const known = await redis.store.then((store) => readKnownKeys(store, keys)).catch(() => undefined)
  if (known === undefined) return [warn(NAME, 'not tried: Redis does not answer')]
  if (known.canaries.size === 0) return [ok(NAME, 'nothing is stored yet')]
  if (vaultKeys === undefined) {
    const file = ownKeyFile(installation.config.dataDir)
    return [fail(NAME, `tokens are stored, but their key ${file} is gone`, 'restore it from a backup')]
  }
  const problems = judgeKeys(known, createVault(vaultKeys), 'refused')
  if (problems.length === 0) return [ok(NAME, 'the keys open what is stored')]
  return problems.map((problem) => fail(NAME, problem, 'check encryption.keys, or restore the key from a backup'))
}

/** Undefined: the first start will make one. */
export function keysOf({
  vaultKeys,
  config,
}: Pick<Installation, 'vaultKeys' | 'config'>): readonly VaultKey[] | undefined {
  if (vaultKeys !== undefined) return vaultKeys
  return existsSync(ownKeyFile(config.dataDir)) ? [ownKey(config.dataDir).key] : undefined
}
