import type { Notice } from '../../config/problems.ts'
import type { Config } from '../../config/schema.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import type { VaultKey } from '../tokens/vault.ts'

/** The installation that is checked. */
export interface Installation {
  config: Config
  notices: readonly Notice[]
  /** The config file, and whether secrets are written into it. */
  configFile?: { path: string; hasSecrets: boolean }
  /** Files that secrets are read from. */
  secretFiles: readonly string[]
  /** Undefined where the config leaves the key to the installation. */
  vaultKeys: readonly VaultKey[] | undefined
  redis: RedisConnection
  keys: Keys
  clock: Clock
}

export interface RedisConnection {
  /** Rejects where there is no server to connect to. */
  store: Promise<Store>
  /** It is the server that Plimsoll runs for itself. */
  isPrivate?: boolean
  /** Why the connection fails, while it does. */
  lastError(): Error | undefined
}
