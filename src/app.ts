import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { changedPaths } from '../config/changes.ts'
import { mailEncryption } from '../config/receivers.ts'
import type { Config } from '../config/schema.ts'
import { longestPauses, startClock } from '../jobs/clock.ts'
import { Turns } from '../jobs/deliver.ts'
import { Movement } from '../jobs/movement.ts'
import { createQueues, type Queues, type SweepKind } from '../jobs/queues.ts'
import { refreshOne } from '../jobs/refresh-tokens.ts'
import { startWorkers } from '../jobs/workers.ts'
import { CLAIM_MS, DueSets } from './accounts/due-sets.ts'
import { identifyAccount } from './accounts/lazy-metadata.ts'
import { Registry } from './accounts/registry.ts'
import { type BegunUninstall, beginUninstall, type UninstallRequest } from './accounts/uninstall.ts'
import { closeAlerts } from './alerts/close-alerts.ts'
import { announceDisabled } from './alerts/delivery-alert.ts'
import { pollAnnouncer } from './alerts/poll-alert.ts'
import { tokenAnnouncer } from './alerts/token-alert.ts'
import { Deliveries } from './delivery/deliveries.ts'
import { createEmailReceiver } from './delivery/email/send-email.ts'
import type { Receiver } from './delivery/receiver.ts'
import { createWebhookReceiver } from './delivery/webhook/send-webhook.ts'
import { type HealthReport, judgeHealth } from './http/health.ts'
import { type HttpServer, startHttpServer } from './http/server.ts'
import { CallShare } from './limits/call-share.ts'
import { History } from './limits/history.ts'
import { PollStore } from './limits/poll-store.ts'
import { type ConfiguredClient, createProviderClient, type ProviderOptions } from './provider/client.ts'
import { connectRedis, type Purpose, type RedisAddress, type Store } from './redis/connect.ts'
import { openEmbeddedRedis } from './redis/embedded.ts'
import { createKeys, type Keys } from './redis/keys.ts'
import type { Clock } from './runtime/clock.ts'
import { InFlight } from './runtime/in-flight.ts'
import type { Lifecycle } from './runtime/lifecycle.ts'
import type { Logger } from './runtime/logger.ts'
import { createMetrics, type Metrics } from './runtime/metrics.ts'
import { Patience } from './runtime/patience.ts'
import { AccessTokens } from './tokens/access-token.ts'
import { AccessTokenStore } from './tokens/access-token-store.ts'
import { checkKeys } from './tokens/canary.ts'
import { Courier } from './tokens/courier/courier.ts'
import { EndpointStore } from './tokens/endpoint/endpoint-store.ts'
import { TokenEndpoint } from './tokens/endpoint/token-endpoint.ts'
import { ownKey } from './tokens/own-key.ts'
import { redeemAndStore } from './tokens/redeem.ts'
import { TokenStore } from './tokens/token-store.ts'
import { createVault, type Vault, type VaultKey } from './tokens/vault.ts'
import { startWriterReports, type WriterReports } from './tokens/writers.ts'

/** What is handed in: everything that a test holds still. */
export interface AppInput {
  config: Config
  clock: Clock
  random: () => number
  log: Logger
}

/** What every process of Plimsoll needs, daemon or command: the store, the keys, the provider, who changes accounts. */
export interface Parts extends AppInput {
  lifecycle: Lifecycle
  address: RedisAddress
  store: Store
  keys: Keys
  vault: Vault
  provider: ConfiguredClient
  registry: Registry
  due: DueSets
  deliveries: Deliveries
  history: History
  queues: Queues
  metrics: Metrics
}

export interface App {
  url: string
  /**
   * Takes over what it can of another config; `restart` are the paths of what it can't. Throws KeysError, and changes
   * nothing, when its keys are not those that stored tokens need.
   */
  reload(next: Config): Promise<{ applied: string[]; restart: string[] }>
}

/** Connections to the provider, and so calls under way: more of them cost more CPU per call than they win. */
const CONNECTIONS = 64
/** Those of them that polls may not take. */
const KEPT_FOR_TOKENS = 16
/** The whole stop is done within ten seconds, and the steps that wait for nobody need some of them. */
const STOP_PATIENCE_MS = 9_000
/** Of these, how long may take: work in hand, the last report, requests under way, the courier. */
const WORK_PATIENCE_MS = 8_000
const REPORT_PATIENCE_MS = 500
const HTTP_PATIENCE_MS = 5_000
const COURIER_PATIENCE_MS = 1_000

/**
 * Opens what every process needs. A daemon's store waits for Redis (`steps`), a command's gives up soon (`pages`). The
 * caller closes `lifecycle`, also when this throws.
 */
export async function openParts(input: AppInput, lifecycle: Lifecycle, purpose: Purpose): Promise<Parts> {
  const { config, clock, log } = input
  const { keys: vaultKeys, made } = encryptionKeys(config)
  const vault = createVault(vaultKeys)
  if (made !== undefined) {
    log.warn(
      { code: 'vault.key-made', file: made },
      `made an encryption key: back up ${made}, or lose all tokens with it`,
    )
  }
  // Before the store, so that it is closed after it: a call that we cut off must not be noted as the provider's failure.
  const provider = createProviderClient({ ...providerOptions(config), clock })
  lifecycle.onClose('the connections to the provider', () => provider.close())
  const address = await openRedis(config, clock, log, lifecycle)
  const store = connectRedis(address, purpose, (error) => log.warn({ code: 'redis.error', err: error }, 'no Redis'))
  lifecycle.onClose('the Redis connection', () => store.disconnect())
  const keys = createKeys(config.redis.prefix)

  const queueStore = connectRedis(address, 'queues', () => {}) // BullMQ reports its connection's errors itself.
  lifecycle.onClose("the queues' connection", () => queueStore.disconnect())
  const queues = createQueues(queueStore, keys.queues, clock, log)
  lifecycle.onClose('the queues', () => queues.close())
  return {
    ...input,
    ...{ lifecycle, address, store, keys, vault, provider, queues },
    registry: new Registry(store, keys),
    due: new DueSets(store, keys),
    deliveries: new Deliveries(store, keys),
    history: new History(store, keys),
    metrics: createMetrics(),
  }
}

/**
 * The daemon. Straight down: each part is built from those above it, and taken down in reverse. HTTP comes first, so that
 * whoever asks while Redis is awaited is told. The caller closes `lifecycle`, also when this throws.
 */
export async function startApp(input: AppInput, lifecycle: Lifecycle): Promise<App> {
  const parts = await openParts(input, lifecycle, 'steps')
  const { config, clock, log, keys } = parts
  let startedAt: number | undefined

  const pages = connectRedis(parts.address, 'pages', () => {}) // Whoever asks is told; the steps' connection logs.
  lifecycle.onClose("the pages' connection", () => pages.disconnect())
  const patience = new Patience(clock, STOP_PATIENCE_MS)
  const movement = new Movement(clock)
  const receivers = createReceivers(config, lifecycle)
  const endpoint = openEndpoint(parts, () => courier.skewMs ?? parts.provider.skewMs())
  const ownWork = workerDeps(parts, receivers, endpoint)
  const courier = createCourier(parts, ownWork)
  // Whoever waits for it has been waited for by then: it is idle, or finishes by itself.
  lifecycle.onClose('the courier', () => courier.stop(patience.of(COURIER_PATIENCE_MS)))
  const work = { ...ownWork, courier }
  const accessTokens = createAccessTokens(parts, pages, work)
  const http = await startHttp(parts, pages, accessTokens, () => readHealth(parts, pages, startedAt, movement))
  lifecycle.onClose('the HTTP server', () => http.close(patience.of(HTTP_PATIENCE_MS)))
  await checkKeys(parts.store, keys, parts.vault)
  const reports = await startWriterReports(parts, ownName())
  // A Redis that is away is not waited for: whoever says nothing is soon taken for gone.
  lifecycle.onClose('the reports of its key', () => patience.wait(REPORT_PATIENCE_MS, reports.stop()))

  await parts.deliveries.enableAll()
  const workerStore = connectRedis(parts.address, 'queues', () => {}) // BullMQ reports its connection's errors itself.
  lifecycle.onClose("the workers' connection", () => workerStore.disconnect())
  const workers = startWorkers(workerStore, keys.queues, { ...work, movement }, log)
  lifecycle.onClose('the workers', async () => {
    const ms = patience.of(WORK_PATIENCE_MS)
    await Promise.all([workers.stop(ms), accessTokens.stop(ms)])
  })
  // Ahead of the workers: nobody of theirs is left standing in its line.
  lifecycle.onClose('the door to the token endpoint', async () => endpoint.close())
  const ticks = startClock(parts.queues, config.schedule, log)
  lifecycle.onClose('the clock', () => ticks.stop())

  startedAt = clock.now()
  log.info({ code: 'daemon.started', url: http.url, pid: process.pid }, `Plimsoll is at work: ${http.url}`)
  let inForce = config
  return {
    url: http.url,
    reload: async (next) => {
      const before = inForce
      inForce = await reload(parts, courier, reports, before, next)
      endpoint.probe()
      return { applied: changedPaths(before, inForce), restart: changedPaths(inForce, next) }
    },
  }
}

/** Takes over what may change while everything runs: the keys, and who the app is at the provider. */
async function reload(
  parts: Parts,
  courier: Courier,
  reports: WriterReports,
  before: Config,
  next: Config,
): Promise<Config> {
  const { encryption: _, ...rest } = before
  const { clientId, clientSecret } = next.provider
  const config: Config = {
    ...rest,
    ...(next.encryption === undefined ? {} : { encryption: next.encryption }),
    provider: { ...before.provider, clientId, clientSecret },
  }
  const { keys } = encryptionKeys(config)
  await checkKeys(parts.store, parts.keys, createVault(keys))
  parts.vault.replace(keys)
  parts.provider.replaceApp({ clientId, clientSecret })
  await courier.replace(keys, { clientId, clientSecret })
  // All of it is in force by now, whatever Redis says to the report; the next one comes soon.
  await reports.report().catch((error: unknown) => {
    parts.log.warn({ code: 'vault.unreported', err: error }, 'could not say which key encrypts here: said again soon')
  })
  return config
}

/** Nothing if the config leaves it to the installation. */
export function configuredKeys({ encryption }: Config): VaultKey[] | undefined {
  return encryption?.keys.map(({ id, key }) => ({ id, key: Buffer.from(key.reveal().trim(), 'base64') }))
}

/** The configured keys, or the installation's own; `made` names the file if that was made just now. */
function encryptionKeys(config: Config): { keys: VaultKey[]; made?: string } {
  const configured = configuredKeys(config)
  if (configured !== undefined) return { keys: configured }
  const { key, file, made } = ownKey(config.dataDir)
  return made ? { keys: [key], made: file } : { keys: [key] }
}

function providerOptions({ provider }: Config): Omit<ProviderOptions, 'clock'> {
  const { api: dialect, baseUrl, clientId, clientSecret, redirectUri, timeout: timeoutMs } = provider
  return { dialect, baseUrl, clientId, clientSecret, redirectUri, timeoutMs, connections: CONNECTIONS }
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

function createReceivers(config: Config, lifecycle: Lifecycle): Map<string, Receiver> {
  const receivers = new Map<string, Receiver>()
  for (const [name, receiver] of Object.entries(config.receivers)) {
    if (receiver.type === 'email') {
      const { smtp, from, to } = receiver
      const tls = mailEncryption(receiver)
      receivers.set(name, createEmailReceiver({ name, smtp, from, to: [...to], tls, timeoutMs: 20_000 }))
    } else {
      receivers.set(name, createWebhookReceiver({ name, url: receiver.url, secrets: [...receiver.secrets] }))
    }
  }
  lifecycle.onClose('the receivers', async () => {
    await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
  })
  return receivers
}

/** Where an account's page is. */
function pageOf(config: Config): (hubId: number) => string {
  return (hubId) => `${config.http.publicUrl}/accounts/${hubId}`
}

/** What connecting an account needs, for the callback and the command line. */
export function connectDeps(parts: Parts) {
  const { provider, store, keys, vault, config, clock, log } = parts
  const announcers = { announce: announcer(config), announceScopes: scopesAnnouncer(config) }
  return { provider, store, keys, vault, ...announcers, settings: config.tokens, clock, log }
}

/** Begins an uninstall, for the API and the command line; the daemon's job does the rest. */
export async function uninstall(parts: Parts, hubId: number, request: UninstallRequest): Promise<BegunUninstall> {
  const { store, keys, config, clock, log } = parts
  const close = closeAlerts.bind(undefined, pageOf(config))
  const begun = await beginUninstall({ store, keys, closeAlerts: close, clock, log }, hubId, request)
  if (begun === 'begun') await Promise.all(wakeNow(parts, 'uninstall', 'alerts'))
  return begun
}

/** After an account was connected: its first poll need not wait for the clock. */
export async function connected(parts: Parts): Promise<void> {
  await Promise.all(wakeNow(parts, 'poll-limits', 'alerts'))
}

/** After accounts were imported: their first refresh need not wait for the clock, nor their digest be sent in pieces. */
export async function imported(parts: Parts): Promise<void> {
  const { store, keys, clock } = parts
  await Promise.all([store.set(keys.delivery.connectedAt, clock.now()), ...wakeNow(parts, 'refresh-tokens')])
}

function wakeNow(parts: Parts, ...kinds: SweepKind[]): Promise<void>[] {
  return kinds.map((kind) => parts.queues.wake(kind, parts.clock.now()))
}

function announcer(config: Config) {
  const { http, alerts } = config
  const installPage = `${http.publicUrl}/install`
  return tokenAnnouncer({ installPage, pageOf: pageOf(config), repeatEveryMs: alerts.repeatEvery })
}

function scopesAnnouncer(config: Config) {
  const { scopes, optionalScopes } = config.provider
  const installPage = `${config.http.publicUrl}/install`
  return pollAnnouncer({ scopes: [...scopes, ...optionalScopes], installPage, pageOf: pageOf(config) })
}

/** Reads for whoever asks and gives up soon; refreshes as the job does, on the connection that waits. */
function createAccessTokens(parts: Parts, pages: Store, work: ReturnType<typeof workerDeps>): AccessTokens {
  return new AccessTokens({
    tokens: new AccessTokenStore(pages, parts.keys),
    vault: parts.vault,
    refresh: (hubId, generation) => refreshOne(work, hubId, generation),
    identify: async (hubId) => {
      const read = await identifyAccount(work, hubId)
      if (read?.is === 'foreign' || (read?.is === 'stored' && read.alerted)) await Promise.all(wakeNow(parts, 'alerts'))
      return read?.is === 'later' ? 'later' : 'asked'
    },
    clock: parts.clock,
  })
}

function startHttp(
  parts: Parts,
  pages: Store,
  accessTokens: AccessTokens,
  health: () => Promise<HealthReport>,
): Promise<HttpServer> {
  const { config, keys, provider, metrics, clock, log } = parts
  return startHttpServer({
    listen: { ...config.http.listen },
    publicUrl: config.http.publicUrl,
    adminToken: config.http.adminToken,
    // Read anew for each install: the app may be another one after a reload.
    install: {
      ...config.provider,
      get clientId() {
        return provider.app.clientId
      },
    },
    connect: connectDeps(parts),
    store: pages,
    keys,
    registry: new Registry(pages, keys),
    history: new History(pages, keys),
    due: new DueSets(pages, keys),
    deliveries: new Deliveries(pages, keys),
    metrics,
    actions: {
      uninstall: (hubId, reason) => uninstall({ ...parts, store: pages }, hubId, { by: 'api', reason }),
      accessToken: (hubId, to) => accessTokens.serve(hubId, to),
      connected: () => connected(parts),
    },
    health,
    clock,
    log,
  })
}

async function readHealth(
  parts: Parts,
  pages: Store,
  startedAt: number | undefined,
  movement: Movement,
): Promise<HealthReport> {
  // A write, because a Redis that only reads is of no use: no lease could be taken.
  const [, sweeps] = await Promise.all([
    pages.hset(parts.keys.progress, 'probe', parts.clock.now()),
    pages.hgetall(parts.keys.progress),
  ]).catch(() => [])
  return judgeHealth({
    now: parts.clock.now(),
    startedAt,
    redisOk: sweeps !== undefined,
    lastSweeps: Object.fromEntries(Object.entries(sweeps ?? {}).map(([kind, at]) => [kind, Number(at)])),
    standstills: movement.standstills(),
    expected: longestPauses(parts.config.schedule),
  })
}

/** The daemon's door to the provider's token endpoint. */
function openEndpoint(parts: Parts, skewMs: () => number | undefined): TokenEndpoint {
  const { config, store, keys, clock, log } = parts
  const { tokenRate, errorCeiling } = config.provider
  return new TokenEndpoint({
    store: new EndpointStore(store, keys),
    settings: { mostPerSecond: (tokenRate.requests * 1_000) / tokenRate.per, errorCeiling },
    announce: announcer(config),
    skewMs,
    alerted: async () => {
      await Promise.all(wakeNow(parts, 'alerts'))
    },
    clock,
    log,
  })
}

/** Where it says which key it encrypts with. */
function ownName(): string {
  return `${hostname()} pid ${process.pid}`
}

/** Not started yet: with a provider that doesn't rotate refresh tokens it never is. */
function createCourier(parts: Parts, work: ReturnType<typeof workerDeps>): Courier {
  const { config, address, clock, log } = parts
  return new Courier({
    settings: {
      daemon: ownName(),
      provider: providerOptions(config),
      redis: address,
      dataDir: resolve(config.dataDir),
      prefix: config.redis.prefix,
      keys: encryptionKeys(config).keys,
      refresh: config.tokens,
      logLevel: config.log.level,
    },
    unstored: work.unstored,
    redeemHere: (job) => redeemAndStore(work, job),
    clock,
    log,
  })
}

function workerDeps(parts: Parts, receivers: ReadonlyMap<string, Receiver>, endpoint: TokenEndpoint) {
  const { config, store, keys, clock, random, log } = parts
  const { requests, per } = config.provider.accountRate
  return {
    ...parts,
    endpoint,
    tokens: new TokenStore(store, keys),
    polls: new PollStore(store, keys),
    stillPolling: (hubId: number) => parts.due.plan('poll', [hubId], clock.now() + CLAIM_MS.poll),
    share: new CallShare(store, keys, { requests, perMs: per }, clock),
    inFlight: new InFlight(CONNECTIONS, KEPT_FOR_TOKENS),
    announce: announcer(config),
    announceScopes: scopesAnnouncer(config),
    settings: config.tokens,
    unstored: new Set<number>(),
    pairs: config.limits.associations,
    everyMs: config.limits.every,
    historyKeepMs: config.limits.history.raw,
    uninstallKeepMs: config.uninstall.keep,
    uninstallAfterRefusedMs: config.uninstall.afterRefused,
    alerts: {
      rules: config.thresholds,
      recoverBelow: config.alerts.recoverBelow,
      for: config.alerts.for,
      repeatEveryMs: config.alerts.repeatEvery,
      firstRun: config.alerts.firstRun,
      pageOf: pageOf(config),
    },
    relay: {
      store,
      keys,
      routes: config.routes,
      receivers: [...receivers.keys()],
      group: {
        by: config.alerts.group.by,
        waitMs: config.alerts.group.wait,
        intervalMs: config.alerts.group.interval,
        max: config.alerts.group.max,
      },
      log,
    },
    closeAlerts: closeAlerts.bind(undefined, pageOf(config)),
    progress: async (kind: SweepKind, at: number) => {
      await store.hset(keys.progress, kind, at)
    },
    receivers,
    turns: new Turns(),
    announceDisabled: announceDisabled.bind(undefined, store, keys),
    clock,
    random,
    log,
  }
}
