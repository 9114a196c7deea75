import type { Config } from '../../config/schema.ts'
import type { Queues } from '../../jobs/queues.ts'
import { DueSets } from '../accounts/due-sets.ts'
import { Registry } from '../accounts/registry.ts'
import { SilenceStore } from '../alerts/silence-store.ts'
import { Deliveries } from '../delivery/deliveries.ts'
import { ReceiverStore } from '../delivery/receiver-health.ts'
import { CoverageStore } from '../limits/coverage.ts'
import { History } from '../limits/history/history.ts'
import { KeptSamples, type SampleSettings } from '../limits/samples.ts'
import type { ConfiguredClient, ProviderOptions } from '../provider/client.ts'
import { CALL_CLASSES, ENDPOINTS, type ObservedCall } from '../provider/observed-call.ts'
import { connectRedis, type Purpose, type RedisAddress, type Store } from '../redis/connect.ts'
import { openEmbeddedRedis } from '../redis/embedded.ts'
import { createKeys, type Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { showTimesIn } from '../text/format-time.ts'
import { createVault, type Vault } from '../tokens/vault.ts'
import { coverageSettings } from './coverage-settings.ts'
import { encryptionKeys } from './encryption-keys.ts'

/** What is handed in: everything that a test holds still. */
export interface AppInput {
  config: Config
  clock: Clock
  random: () => number
  log: Logger
}

/** What reads: the store and all that is kept in it. A command that only prints a table needs no more, and starts sooner. */
export interface StoreParts extends AppInput {
  lifecycle: Lifecycle
  address: RedisAddress
  store: Store
  keys: Keys
  vault: Vault
  registry: Registry
  due: DueSets
  deliveries: Deliveries
  silences: SilenceStore
  receiverStore: ReceiverStore
  history: History
  coverage: CoverageStore
  samples: KeptSamples
}

/** What every process of Plimsoll that changes accounts needs, daemon or command: also the provider and the queues. */
export interface Parts extends StoreParts {
  provider: ConfiguredClient
  queues: Queues
  metrics: Metrics
}

/**
 * Opens what every process needs. A daemon's store waits for Redis (`steps`), a command's gives up soon (`pages`). The
 * caller closes `lifecycle`, also when this throws.
 */
export async function openStore(input: AppInput, lifecycle: Lifecycle, purpose: Purpose): Promise<StoreParts> {
  const { config, clock, log } = input
  showTimesIn(config.http.timeZone)
  const { keys: vaultKeys, made } = encryptionKeys(config)
  const vault = createVault(vaultKeys)
  if (made !== undefined) {
    log.warn(
      { code: 'vault.key-made', file: made },
      `made an encryption key: back up ${made}, or lose all tokens with it`,
    )
  }
  const address = await openRedis(config, clock, log, lifecycle)
  const store = connectRedis(address, purpose, (error) => log.warn({ code: 'redis.error', err: error }, 'no Redis'))
  lifecycle.onClose('the Redis connection', () => store.disconnect())
  const keys = createKeys(config.redis.prefix)
  return {
    ...input,
    ...{ lifecycle, address, store, keys, vault },
    registry: new Registry(store, keys),
    due: new DueSets(store, keys),
    deliveries: new Deliveries(store, keys),
    receiverStore: new ReceiverStore(store, keys),
    history: new History(store, keys),
    ...configured(store, keys, config),
  }
}

/** The same with what calls the provider and gives work to daemons. Loaded here: it is half of all that is loaded. */
export async function openParts(input: AppInput, lifecycle: Lifecycle, purpose: Purpose): Promise<Parts> {
  const [{ createQueues }, { createProviderClient }, { createMetrics }] = await Promise.all([
    import('../../jobs/queues.ts'),
    import('../provider/client.ts'),
    import('../runtime/metrics.ts'),
  ])
  const { config, clock, log } = input
  // Before the store, so that it is closed after it: a call that we cut off must not be noted as the provider's failure.
  const metrics = createMetrics()
  const provider = createProviderClient({ ...providerOptions(config), clock, observe: observeCalls(metrics) })
  lifecycle.onClose('the connections to the provider', () => provider.close())
  const stores = await openStore(input, lifecycle, purpose)

  const queueStore = connectRedis(stores.address, 'queues', () => {}) // BullMQ reports its connection's errors itself.
  lifecycle.onClose("the queues' connection", () => queueStore.disconnect())
  const queues = createQueues(queueStore, stores.keys.queues, clock, log)
  lifecycle.onClose('the queues', () => queues.close())
  return { ...stores, provider, queues, metrics }
}

/** The same parts by another config. */
export function withConfig(parts: Parts, config: Config): Parts {
  return { ...parts, config, ...configured(parts.store, parts.keys, config) }
}

/** The stores that read with settings. */
function configured(store: Store, keys: Keys, config: Config) {
  return {
    silences: new SilenceStore(store, keys, config.tags),
    coverage: new CoverageStore(store, keys, coverageSettings(config)),
    samples: new KeptSamples(store, keys, sampleSettings(config)),
  }
}

export function providerOptions({ provider }: Config): Omit<ProviderOptions, 'clock' | 'observe'> {
  const { api: dialect, baseUrl, clientId, clientSecret, redirectUri, timeout: timeoutMs, connections } = provider
  return { dialect, baseUrl, clientId, clientSecret, redirectUri, timeoutMs, connections }
}

export function sampleSettings({ limits }: Config): SampleSettings {
  return { records: limits.records, keepMs: limits.history.samples }
}

/** Where Redis is, after the private one was started where there is no other. */
export async function openRedis(
  config: Config,
  clock: Clock,
  log: Logger,
  lifecycle: Lifecycle,
): Promise<RedisAddress> {
  const { url, sentinels, name, cluster, password, tls } = config.redis
  const access = { tls, ...(password === undefined ? {} : { password }) }
  if (url !== undefined) return { kind: 'url', url, ...access }
  if (sentinels !== undefined) return { kind: 'sentinels', sentinels: [...sentinels], name: name ?? '', ...access }
  if (cluster !== undefined) return { kind: 'cluster', nodes: [...cluster], ...access }
  const embedded = await openEmbeddedRedis(config.dataDir, clock, log)
  lifecycle.onClose('the embedded Redis', () => embedded.close())
  return { kind: 'embedded', socket: embedded.socket }
}

/** Counts calls to the provider. All that may come are there from the start, at 0: the first failure is seen as a rise. */
function observeCalls({ providerRequests, providerLatency }: Metrics): (call: ObservedCall) => void {
  const counters = eachOf(ENDPOINTS, (endpoint) =>
    eachOf(CALL_CLASSES, (name) => {
      const counter = providerRequests.labels({ endpoint, class: name })
      counter.inc(0)
      return counter
    }),
  )
  const latencies = eachOf(ENDPOINTS, (endpoint) => providerLatency.labels({ endpoint }))
  return (call) => {
    counters[call.endpoint][call.class].inc()
    latencies[call.endpoint].observe(Math.max(0, call.ms) / 1_000)
  }
}

function eachOf<K extends string, T>(names: readonly K[], make: (name: K) => T): Record<K, T> {
  return Object.fromEntries(names.map((name) => [name, make(name)])) as Record<K, T>
}
