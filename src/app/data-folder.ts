import { existsSync } from 'node:fs'
import type { Config } from '../../config/schema/schema.ts'
import { holdsEmbeddedRedis } from '../redis/embedded.ts'
import type { VaultKey } from '../tokens/vault.ts'
import { ownKey, ownKeyFile } from '../tokens/vault-keys.ts'

type Places = Pick<Config, 'redis' | 'encryption' | 'dataDir'>

/**
 * The path of what an installation should have in its data folder and hasn't: the folder, or only the key in it; undefined
 * where all is there. What the config places elsewhere, the Redis or the keys, is not asked for.
 */
export function missingData(config: Places): string | undefined {
  const { dataDir } = config
  if (lacksEmbeddedRedis(config)) return dataDir
  if (!lacksOwnKey(config)) return undefined
  return holdsEmbeddedRedis(dataDir) ? ownKeyFile(dataDir) : dataDir
}

/** The config leaves the key to the installation, which has none. */
export function lacksOwnKey({ encryption, dataDir }: Pick<Places, 'encryption' | 'dataDir'>): boolean {
  return encryption === undefined && !existsSync(ownKeyFile(dataDir))
}

/** The Redis is a private one that was never started there. */
export function lacksEmbeddedRedis({ redis, dataDir }: Omit<Places, 'encryption'>): boolean {
  return hasPrivateRedis({ redis }) && !holdsEmbeddedRedis(dataDir)
}

/** The key that an earlier start made, together with data of a private Redis, where that is gone now; undefined: it is not. */
export function keyOfLostData(config: Places): string | undefined {
  const isLost = lacksEmbeddedRedis(config) && config.encryption === undefined && !lacksOwnKey(config)
  return isLost ? ownKeyFile(config.dataDir) : undefined
}

export function hasPrivateRedis({ redis: { url, sentinels, cluster } }: Pick<Places, 'redis'>): boolean {
  return (url ?? sentinels ?? cluster) === undefined
}

/** Nothing if the config leaves it to the installation. */
export function configuredKeys({ encryption }: Pick<Config, 'encryption'>): VaultKey[] | undefined {
  return encryption?.keys.map(({ id, key }) => ({ id, key: Buffer.from(key.reveal().trim(), 'base64') }))
}

/** The configured keys, or the installation's own; `made` names the file if that was made just now. */
export function encryptionKeys(config: Pick<Config, 'encryption' | 'dataDir'>): { keys: VaultKey[]; made?: string } {
  const configured = configuredKeys(config)
  if (configured !== undefined) return { keys: configured }
  const { key, file, made } = ownKey(config.dataDir)
  return made ? { keys: [key], made: file } : { keys: [key] }
}
