import { hostname } from 'node:os'
import { changedPaths } from '../config/changes.ts'
import type { Config } from '../config/schema.ts'
import { startClock } from '../jobs/clock.ts'
import { Movement } from '../jobs/movement.ts'
import { refreshOne } from '../jobs/refresh-tokens.ts'
import { replanPolls } from '../jobs/replan-polls.ts'
import { startWorkers } from '../jobs/workers.ts'
import { identifyAccount } from './accounts/lazy-metadata.ts'
import { lookAgain } from './alerts/groups/look-again.ts'
import { wakeNow } from './app/account-actions.ts'
import { ackUrls } from './app/ack-links.ts'
import { createCourier } from './app/courier.ts'
import { startDaemonReports } from './app/daemon-reports.ts'
import { encryptionKeys } from './app/encryption-keys.ts'
import { readHealth, startHttp } from './app/http.ts'
import { type AppInput, openParts, type Parts } from './app/parts.ts'
import { createReceivers } from './app/receivers.ts'
import { openEndpoint } from './app/token-endpoint.ts'
import { workerDeps } from './app/worker-deps.ts'
import { connectRedis, type Store } from './redis/connect.ts'
import type { Lifecycle } from './runtime/lifecycle.ts'
import { Patience } from './runtime/patience.ts'
import { AccessTokens } from './tokens/access-token.ts'
import { AccessTokenStore } from './tokens/access-token-store.ts'
import { checkKeys } from './tokens/canary.ts'
import type { Courier } from './tokens/courier/courier.ts'
import { createVault } from './tokens/vault.ts'
import { startWriterReports, type WriterReports } from './tokens/writers.ts'

export interface App {
  url: string
  /**
   * Takes over what it can of another config; `restart` are the paths of what it can't. Throws KeysError, and changes
   * nothing, when its keys are not those that stored tokens need.
   */
  reload(next: Config): Promise<{ applied: string[]; restart: string[] }>
}

/** The whole stop is done within ten seconds, and the steps that wait for nobody need some of them. */
const STOP_PATIENCE_MS = 9_000
/** Of these, how long may take: work in hand, the last report, requests under way, the courier. */
const WORK_PATIENCE_MS = 8_000
const REPORT_PATIENCE_MS = 500
const HTTP_PATIENCE_MS = 5_000
const COURIER_PATIENCE_MS = 1_000

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
  const ackUrl = ackUrls(parts.vault, config)
  const receivers = createReceivers(config, lifecycle, (alert) => ackUrl(alert, clock.now()))
  const endpoint = openEndpoint(parts, () => courier.skewMs ?? parts.provider.skewMs())
  const ownWork = workerDeps(parts, receivers, endpoint)
  const courier = createCourier(parts, ownWork, ownName())
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
  const presence = await startDaemonReports(parts, ownName())
  lifecycle.onClose('the reports that it runs', () => patience.wait(REPORT_PATIENCE_MS, presence.stop()))

  await parts.deliveries.enableAll()
  // The config may have other quiet hours, tags or routes than the one by which they are held back.
  await lookAgain(parts, clock.now())
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

  void replanPolls(ownWork).catch((error: unknown) => {
    log.warn(
      { code: 'poll.error', err: error },
      'could not look whose period is shorter now: their turns stay as planned',
    )
  })

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

/** Who this daemon is, where daemons tell of themselves. */
function ownName(): string {
  return `${hostname()} pid ${process.pid}`
}
