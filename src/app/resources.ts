import type { Config } from '../../config/schema/schema.ts'
import { createQueues, type Queues } from '../../jobs/queues.ts'
import { DueSets } from '../accounts/due-sets.ts'
import { endpointAnnouncer } from '../alerts/kinds/fleet-alert.ts'
import { CallCounter } from '../heartbeat/failed-calls.ts'
import { Movement } from '../heartbeat/movement.ts'
import { LIMITS_ENDPOINTS } from '../limits/reports/all-reports.ts'
import { type ConfiguredClient, createProviderClient } from '../provider/client.ts'
import { CALL_CLASSES, type ObservedCall, TOKEN_ENDPOINTS } from '../provider/observed-call.ts'
import { connectRedis, type Purpose, type RedisAddress, type Store } from '../redis/connect.ts'
import { createKeys, type Keys } from '../redis/keys.ts'
import { EndpointText } from '../redis/steps.ts'
import { atInterval, InFlight } from '../runtime/concurrency.ts'
import { type Lifecycle, ShutdownBudget } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { createMetrics, type Metrics } from '../runtime/metrics.ts'
import { showTimesIn } from '../text/format-time.ts'
import { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { PendingTokens } from '../tokens/pending-tokens.ts'
import { SealedFile } from '../tokens/sealed-tokens.ts'
import { TokenStore } from '../tokens/token-store.ts'
import { createVault, type Vault, type VaultKey } from '../tokens/vault.ts'
import { checkNothingIsSealed, ownKeyFile } from '../tokens/vault-keys.ts'
import { fleetAnnouncements } from './announcers.ts'
import { encryptionKeys, lacksOwnKey } from './data-folder.ts'
import type { AppInput } from './input.ts'
import { openRedis } from './open-redis.ts'
import { providerOptions } from './settings.ts'

/** Parts that are opened once and live until the process ends, through any reload. */
export interface Resources extends Omit<AppInput, 'config'> {
  lifecycle: Lifecycle
  address: RedisAddress
  store: Store
  keys: Keys
  vault: Vault
  provider: ConfiguredClient
  queues: Queues
  metrics: Metrics
  /** By the steady clock. */
  startedAt: number
  /** Time that the steps of a stop may take together. */
  budget: ShutdownBudget
  /** Calls to the provider. */
  inFlight: InFlight
  tokens: TokenStore
  /** The provider's answers that Redis has not taken. */
  pending: PendingTokens
  movement: Movement
  /** The door to the provider's token endpoint. Closed before work that may stand in its line. */
  endpoint: TokenEndpoint
  /** Takes another config over, at once. */
  follow(config: Config, vaultKeys: readonly VaultKey[]): void
}

/** Connections to the provider that polls may not take, but no more than a quarter of all. */
const KEPT_FOR_TOKENS = 16
const SEAL_EVERY_MS = 5_000
/** The whole stop is done within ten seconds; the steps that wait for no other part need some of them. */
const STOP_BUDGET_MS = 9_000
const PENDING_STOP_MS = 1_000
const HAND_OVER_EVERY_MS = 10_000
const HAND_OVER_STOP_MS = 500

/**
 * A daemon's store waits for Redis (`steps`), a command's gives up soon (`pages`). The caller closes `lifecycle`, also when
 * this throws.
 */
export async function openResources(input: AppInput, lifecycle: Lifecycle, purpose: Purpose): Promise<Resources> {
  const { config, clock, log, waitMs, proxyFor } = input
  showTimesIn(config.http.timeZone)
  // Before the store, so that it is closed after it: a call that we cut off must not be noted as the provider's failure.
  const [metrics, counter] = [createMetrics(), new CallCounter()]
  const observe = observeCalls(metrics, counter)
  const provider = createProviderClient({ ...providerOptions(config), clock, observe, proxyFor })
  lifecycle.onClose('the connections to the provider', () => provider.close())
  const address = await openRedis(input, lifecycle)
  const noRedis = (error: Error) => log.warn({ code: 'redis.error', err: error }, 'no Redis')
  const store = connectRedis(address, purpose, noRedis, waitMs)
  lifecycle.onClose('the Redis connection', () => store.disconnect())
  const keys = createKeys(config.redis.prefix)
  const vault = createVault(await openKeys(config, log, store, keys))
  const opened = { ...input, lifecycle, address, store, keys, vault }
  const queues = openQueues(opened)
  const budget = new ShutdownBudget(clock, STOP_BUDGET_MS)
  keepHandingOver(counter, opened, budget)
  const tokens = new TokenStore(store, keys, clock)
  const pending = openPending({ ...opened, tokens }, config.dataDir, budget)
  const { connections, timeout, clientSecret } = config.provider
  const followed = { config }
  const endpoint = openEndpoint({ ...opened, queues }, followed)
  lifecycle.onClose('the door to the token endpoint', async () => endpoint.close())
  return {
    ...opened,
    provider,
    queues,
    metrics,
    budget,
    tokens,
    pending,
    endpoint,
    startedAt: clock.steady(),
    inFlight: new InFlight(connections, Math.min(KEPT_FOR_TOKENS, Math.ceil(connections / 4))),
    movement: new Movement(clock, timeout * clientSecret.length),
    follow: (next, vaultKeys) => {
      vault.replace(vaultKeys)
      provider.follow(providerOptions(next))
      log.level = next.log.level
      followed.config = next
    },
  }
}

/** The keys of the config, or the installation's own. Where tokens are stored none is made. Throws KeysError. */
async function openKeys(config: Config, log: Logger, store: Store, keys: Keys): Promise<VaultKey[]> {
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

type Opened = Pick<Resources, 'lifecycle' | 'address' | 'store' | 'keys' | 'vault' | 'clock' | 'log'>

function openQueues({ address, keys, clock, log, lifecycle }: Opened): Queues {
  const connection = connectRedis(address, 'queues', () => {}) // BullMQ reports its connection's errors itself.
  lifecycle.onClose("the queues' connection", () => connection.disconnect())
  const queues = createQueues(connection, keys.queues, clock, log)
  lifecycle.onClose('the queues', () => queues.close())
  return queues
}

function openPending(
  { tokens, clock, vault, log, lifecycle }: Opened & Pick<Resources, 'tokens'>,
  dataDir: string,
  budget: ShutdownBudget,
): PendingTokens {
  const pending = new PendingTokens({ tokens, vault, clock, log, file: new SealedFile(vault, dataDir) })
  const endSealing = atInterval(async () => pending.seal(), SEAL_EVERY_MS)
  lifecycle.onClose('the sweep of pending tokens', async () => endSealing())
  lifecycle.onClose('the pending tokens', () => pending.close(budget.of(PENDING_STOP_MS)))
  return pending
}

/** Hands over this process's counts of calls every few seconds and when it stops: a crash loses the seconds since. */
function keepHandingOver(
  counter: CallCounter,
  { store, keys, clock, lifecycle }: Opened,
  budget: ShutdownBudget,
): void {
  const handOver = () => counter.handOver(store, keys, clock.now())
  const end = atInterval(handOver, HAND_OVER_EVERY_MS)
  lifecycle.onClose('the counts of calls to the provider', () => {
    end()
    return budget.wait(
      HAND_OVER_STOP_MS,
      handOver().catch(() => undefined),
    )
  })
}

function openEndpoint(
  { store, keys, queues, clock, log }: Opened & Pick<Resources, 'queues'>,
  followed: { readonly config: Config },
): TokenEndpoint {
  const due = new DueSets(store, keys)
  return new TokenEndpoint({
    text: new EndpointText(store, keys),
    announce: (...change) =>
      endpointAnnouncer(store, keys, fleetAnnouncements(followed.config), () => due.nearestExpiry())(...change),
    alerted: () => queues.wake('alerts', clock.now()),
    clock,
    log,
  })
}

/** Counts calls to the provider. All that may come are there from the start, at 0: the first failure is seen as a rise. */
function observeCalls(
  { providerRequests, providerLatency }: Metrics,
  counter: CallCounter,
): (call: ObservedCall) => void {
  for (const endpoint of [...TOKEN_ENDPOINTS, ...LIMITS_ENDPOINTS])
    for (const name of CALL_CLASSES) providerRequests.inc({ endpoint, class: name }, 0)
  return ({ status, endpoint, class: name, ms }) => {
    counter.note(status)
    providerRequests.inc({ endpoint, class: name })
    providerLatency.observe({ endpoint }, Math.max(0, ms) / 1_000)
  }
}
