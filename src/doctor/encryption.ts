import { existsSync } from 'node:fs'
import { openCanary } from '../tokens/canary.ts'
import { ownKey, ownKeyFile } from '../tokens/own-key.ts'
import { createVault, VaultError, type VaultKey } from '../tokens/vault.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { Installation } from './installation.ts'

const NAME = 'encryption'

/** Whether the keys open what is stored. Makes no key and stores nothing: that is for the first start to do. */
export async function checkEncryption(installation: Installation): Promise<Finding[]> {
  const { redis, keys } = installation
  const vaultKeys = installation.vaultKeys ?? ownKeys(installation.config.dataDir)
  const isStored = await redis.store.then((store) => store.exists(keys.canary)).catch(() => undefined)
  if (isStored === undefined) return [warn(NAME, 'not tried: Redis does not answer')]
  if (isStored === 0) return [ok(NAME, 'nothing is stored yet')]
  if (vaultKeys === undefined) {
    const file = ownKeyFile(installation.config.dataDir)
    return [fail(NAME, `tokens are stored, but their key ${file} is gone`, 'restore it from a backup')]
  }
  try {
    await openCanary(await redis.store, keys, createVault(vaultKeys))
    return [ok(NAME, 'the keys open what is stored')]
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return [fail(NAME, error.message, 'check encryption.keys, or restore the key from a backup')]
  }
}

function ownKeys(dataDir: string): VaultKey[] | undefined {
  return existsSync(ownKeyFile(dataDir)) ? [ownKey(dataDir).key] : undefined
}
