import { existsSync } from 'node:fs'
import type { Config } from '../../config/schema.ts'
import { holdsEmbeddedRedis } from '../redis/embedded.ts'
import { ownKeyFile } from '../tokens/own-key.ts'

type Places = Pick<Config, 'redis' | 'encryption' | 'dataDir'>

/**
 * The path of what an installation should have in its data folder and hasn't: the folder, or only the key in it; undefined
 * where all is there. What the config places elsewhere, the Redis or the keys, is not asked for.
 */
export function missingData(config: Places): string | undefined {
  const { encryption, dataDir } = config
  if (lacksEmbeddedRedis(config)) return dataDir
  if (encryption !== undefined || existsSync(ownKeyFile(dataDir))) return undefined
  return holdsEmbeddedRedis(dataDir) ? ownKeyFile(dataDir) : dataDir
}

/** The Redis is a private one that was never started there. */
export function lacksEmbeddedRedis({ redis, dataDir }: Omit<Places, 'encryption'>): boolean {
  const { url, sentinels, cluster } = redis
  return url === undefined && sentinels === undefined && cluster === undefined && !holdsEmbeddedRedis(dataDir)
}
