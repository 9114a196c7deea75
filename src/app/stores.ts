import type { Config } from '../../config/schema/schema.ts'
import { DueSets } from '../accounts/due-sets.ts'
import { Registry } from '../accounts/registry.ts'
import { SilenceStore } from '../alerts/silence-store.ts'
import { AuditLog } from '../audit/audit-log.ts'
import { Deliveries } from '../delivery/deliveries.ts'
import { ReceiverStore } from '../delivery/receiver-health.ts'
import { FailedCalls } from '../heartbeat/failed-calls.ts'
import { CoverageStore } from '../limits/coverage.ts'
import { History } from '../limits/history/history.ts'
import { SampleStore } from '../limits/samples.ts'
import { connectRedis, type Purpose, type RedisAddress, type Store } from '../redis/connect.ts'
import { openEmbeddedRedis } from '../redis/embedded.ts'
import { createKeys, type Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import type { ProxyFor } from '../runtime/outgoing-proxy.ts'
import { showTimesIn } from '../text/format-time.ts'
import { createVault, type Vault, type VaultKey } from '../tokens/vault.ts'
import { checkNothingIsSealed, ownKeyFile } from '../tokens/vault-keys.ts'
import { encryptionKeys, keyOfLostData, lacksOwnKey } from './data-folder.ts'
import type { ConfigPlace } from './plan-rules.ts'
import { checkBounds, coverageSettings, sampleSettings } from './settings.ts'

/** Inputs from outside: everything that a test replaces. */
export interface AppInput {
  config: Config
  clock: Clock
  random: () => number
  log: Logger
  /** How long a command waits for Redis. Absent: a daemon, which waits. */
  waitMs?: number
  /** Absent: every address is reached directly. */
  proxyFor?: ProxyFor | undefined
  /** Place of the config's file; absent: it is from none. */
  place?: ConfigPlace | undefined
}

/** The part of the resources that reads and writes Redis: opened once, closed with the process. */
export interface StoreResources extends Omit<AppInput, 'config' | 'waitMs'> {
  lifecycle: Lifecycle
  address: RedisAddress
  store: Store
  keys: Keys
  vault: Vault
}

/** All that is kept in Redis, by one config. A command that only prints a table needs no more, and starts sooner. */
export type Stores = ReturnType<typeof buildStores>

export function buildStores(resources: StoreResources, config: Config) {
  const { store, keys } = resources
  return {
    ...resources,
    config,
    audit: new AuditLog(resources),
    registry: new Registry(store, keys),
    due: new DueSets(store, keys),
    deliveries: new Deliveries(store, keys),
    receiverStore: new ReceiverStore(store, keys),
    history: new History(store, keys),
    silences: new SilenceStore(store, keys, config.tags),
    coverage: new CoverageStore(store, keys, coverageSettings(config)),
    failedCalls: new FailedCalls(store, keys, config.provider.failedCalls),
    samples: new SampleStore(store, keys, sampleSettings(config)),
    bounds: checkBounds(config),
  }
}

export async function openStores(input: AppInput, lifecycle: Lifecycle, purpose: Purpose): Promise<Stores> {
  return buildStores(await openStoreResources(input, lifecycle, purpose), input.config)
}

/**
 * A daemon's store waits for Redis (`steps`), a command's gives up soon (`pages`). The caller closes `lifecycle`, also when
 * this throws.
 */
export async function openStoreResources(
  input: AppInput,
  lifecycle: Lifecycle,
  purpose: Purpose,
): Promise<StoreResources> {
  const { config, clock, random, log, waitMs, proxyFor, place } = input
  showTimesIn(config.http.timeZone)
  const address = await openRedis(input, lifecycle)
  const store = connectRedis(
    address,
    purpose,
    (error) => log.warn({ code: 'redis.error', err: error }, 'no Redis'),
    waitMs,
  )
  lifecycle.onClose('the Redis connection', () => store.disconnect())
  const keys = createKeys(config.redis.prefix)
  const vault = createVault(await openKeys(input, store, keys))
  return { clock, random, log, proxyFor, place, lifecycle, address, store, keys, vault }
}

/** The keys of the config, or the installation's own. Where tokens are stored none is made. Throws KeysError. */
async function openKeys({ config, log }: AppInput, store: Store, keys: Keys): Promise<VaultKey[]> {
  if (lacksOwnKey(config)) await checkNothingIsSealed(store, keys, ownKeyFile(config.dataDir))
  const { keys: vaultKeys, made } = encryptionKeys(config)
  if (made !== undefined) {
    log.warn(
      { code: 'vault.key-made', file: made },
      `made an encryption key: back up ${made}, or lose all tokens with it`,
    )
  }
  return vaultKeys
}

/** Address of Redis; starts the private one where the config names none. */
export async function openRedis(
  { config, clock, log, waitMs }: Omit<AppInput, 'random'>,
  lifecycle: Lifecycle,
): Promise<RedisAddress> {
  const { url, sentinels, name, cluster, username, password, sentinelUsername, sentinelPassword, tls } = config.redis
  if (url !== undefined) return { kind: 'url', url, tls }
  const access = { tls, ...defined({ username, password }) }
  if (sentinels !== undefined) {
    const ofSentinels = defined({ sentinelUsername, sentinelPassword })
    return { kind: 'sentinels', sentinels: [...sentinels], name: name ?? '', ...access, ...ofSentinels }
  }
  if (cluster !== undefined) return { kind: 'cluster', nodes: [...cluster], ...access }
  const key = keyOfLostData(config)
  const embedded = await openEmbeddedRedis(config.dataDir, clock, log, waitMs)
  lifecycle.onClose('the embedded Redis', () => embedded.close())
  if (key !== undefined) {
    log.error(
      { code: 'data.gone', key },
      `began with no data: ${config.dataDir} has none, and it had some, because ${key} is there. Where accounts were connected, stop and restore a backup`,
    )
  }
  return { kind: 'embedded', socket: embedded.socket }
}
