import { hostname } from 'node:os'
import type { Config } from '../config/schema.ts'
import { NO_CLOCK, type TickingClock as Ticks } from '../jobs/clock.ts'
import { Movement } from '../jobs/movement.ts'
import { identifyOne, refreshOne } from '../jobs/refresh-tokens.ts'
import { DueSets } from './accounts/due-sets.ts'
import { lookAgain } from './alerts/groups/held.ts'
import { accountJobs } from './app/account-jobs.ts'
import { startDaemonReports } from './app/daemon-reports.ts'
import { type RedisSeen, readHealth, startHttp } from './app/http.ts'
import { type AppInput, openParts } from './app/parts.ts'
import { type Reloaded, type Running, reload, replanInBackground } from './app/reload.ts'
import { createSharedServices } from './app/services.ts'
import { startClockOf, startWorkersOf } from './app/start-jobs.ts'
import { tendAppendOnlyFile } from './app/tend-append-only-file.ts'
import { openEndpoint } from './app/token-endpoint.ts'
import { type DataWatch, startDataWatch } from './app/watch-data.ts'
import { openWork } from './app/work.ts'
import { ROLES, type Role } from './heartbeat/roles.ts'
import type { HealthReport } from './http/health.ts'
import { connectRedis, onReady, type Store } from './redis/connect.ts'
import { checkFormat, raiseFormat } from './redis/format.ts'
import { atInterval } from './runtime/concurrency.ts'
import { type Lifecycle, ShutdownBudget } from './runtime/lifecycle.ts'
import { watchFileRoom } from './runtime/process.ts'
import { AccessTokens } from './tokens/access-token.ts'
import { checkKeys } from './tokens/canary.ts'
import { storeSealed } from './tokens/sealed-answers.ts'
import { TokenStore } from './tokens/token-store.ts'
import { storeYoungAgain } from './tokens/unstored.ts'
import { startWriterReports } from './tokens/writers.ts'

export interface App {
  url: string
  /** Below `url`: signs in, once. */
  signInPath: string
  /**
   * Takes over what it can of another config; `restart` are the paths of what it can't. Throws KeysError, and changes
   * nothing, when its keys are not those that stored tokens need.
   */
  reload(next: Config): Promise<Reloaded>
  /** The file was read, and is of no use. */
  refused(): void
  health(): Promise<HealthReport>
  /** Accounts whose tokens are kept alive, and how many of them should have been refreshed a minute ago. */
  counts(): Promise<{ accounts: number; overdue: number }>
}

/** The whole stop is done within ten seconds, and the steps that wait for nobody need some of them. */
const STOP_BUDGET_MS = 9_000
/** Of these, how long may take: work in hand, the last report, requests under way, answers that are still to be stored. */
const WORK_STOP_MS = 8_000
const REPORT_STOP_MS = 500
const HTTP_STOP_MS = 5_000
const ANSWER_STOP_MS = 1_000
const UNSEAL_EVERY_MS = 300_000
const OVERDUE_AFTER_MS = 60_000

/**
 * The daemon. Straight down: each part is built from those above it, and taken down in reverse. HTTP comes first, so that
 * whoever asks while Redis is awaited is told. The caller closes `lifecycle`, also when this throws. Without some of the
 * roles, other daemons must have them.
 */
export async function startApp(
  input: AppInput,
  lifecycle: Lifecycle,
  roles: ReadonlySet<Role> = new Set(ROLES),
): Promise<App> {
  const parts = await openParts(input, lifecycle, 'steps')
  const { clock, log, keys } = parts
  const inForce = { parts }
  let startedAt: number | undefined

  const pages = connectRedis(parts.address, 'pages', () => {}) // Whoever asks is told; the steps' connection logs.
  lifecycle.onClose("the pages' connection", () => pages.disconnect())
  const budget = new ShutdownBudget(clock, STOP_BUDGET_MS)
  const shared = createSharedServices(parts)
  const { unstored } = shared
  lifecycle.onClose('the answers that Redis has not taken', () => unstored.close(clock, budget.of(ANSWER_STOP_MS)))
  const movement = new Movement(clock, input.config.provider.timeout)
  const endpoint = openEndpoint(parts, () => inForce.parts.config)
  const services = { ...shared, endpoint, movement }
  const running: Running = Object.assign(inForce, { work: openWork(parts, services), services })
  lifecycle.onClose('the receivers', () => running.work.close())
  const accessTokens = createAccessTokens(running, pages)
  let ticks: Ticks = NO_CLOCK
  let dataWatch: DataWatch | undefined
  const redisSeen: RedisSeen = { ok: true, since: undefined }
  const own = () => ({ roles, movement, ticks: ticks.lastTicks(), dataTrouble: dataWatch?.trouble, redisSeen })
  const health = () => readHealth(running.parts, pages, startedAt, own())
  const stopping = new AbortController()
  const jobs = accountJobs(parts, () => running.work, stopping.signal)
  const http = await startHttp(running, pages, accessTokens, endpoint, jobs, stopping.signal, health, roles.has('web'))
  lifecycle.onClose('the HTTP server', () => {
    // Who asked for a poll, a refresh or a test is told that it was cut off.
    stopping.abort()
    return http.close(budget.of(HTTP_STOP_MS))
  })
  await checkFormat(parts.store, keys)
  await checkKeys(parts.store, keys, parts.vault)
  await raiseFormat(parts.store, keys)
  const unseal = () =>
    storeSealed({ ...running.work, unstored }, input.config.dataDir).catch((error: unknown) => {
      log.error({ code: 'token.not-unsealed', err: error }, 'the folder of sealed tokens could not be read or written')
    })
  void unseal()
  onReady(parts.store, () => void storeYoungAgain({ ...running.work, unstored }))
  // Also what a command left there, or what waits for a Redis that has its data again.
  const endUnsealing = atInterval(unseal, UNSEAL_EVERY_MS)
  lifecycle.onClose('the sweep of sealed answers', async () => endUnsealing())
  dataWatch = await startDataWatch(() => running.parts)
  lifecycle.onClose('the watch over the data', () => dataWatch?.stop())
  const reports = await startWriterReports(parts, ownName())
  // A Redis that is away is not waited for: whoever says nothing is soon taken for gone.
  lifecycle.onClose('the reports of its key', () => budget.wait(REPORT_STOP_MS, reports.stop()))
  const presence = await startDaemonReports(() => running.parts, ownName(), roles)
  lifecycle.onClose('the reports that it runs', () => budget.wait(REPORT_STOP_MS, presence.stop()))
  await parts.deliveries.enable('all')
  // The config may have other quiet hours, tags or routes than the one by which they are held back.
  await lookAgain(parts, clock.now())
  const workers = startWorkersOf(running, roles)
  lifecycle.onClose('the workers', async () => {
    const ms = budget.of(WORK_STOP_MS)
    await Promise.all([workers.stop(ms), accessTokens.stop(ms)])
  })
  // Ahead of the workers: nobody of theirs is left standing in its line.
  lifecycle.onClose('the door to the token endpoint', async () => endpoint.close())
  ticks = startClockOf(running, roles)
  lifecycle.onClose('the clock', async () => ticks.stop())
  const endRewrites = tendAppendOnlyFile(parts)
  lifecycle.onClose('the rewrites of the append-only file', async () => endRewrites())
  const endFileWatch = watchFileRoom(log)
  lifecycle.onClose('the watch on open files', async () => endFileWatch())
  if (roles.has('worker')) replanInBackground(running.work)

  startedAt = clock.now()
  parts.metrics.started(startedAt)
  parts.metrics.configReload(true, startedAt)
  const as = { url: http.url, pid: process.pid, roles: [...roles] }
  log.info({ code: 'daemon.started', ...as }, `Plimsoll is at work: ${http.url}`)
  const due = new DueSets(pages, keys)
  return {
    ...{ url: http.url, signInPath: http.signInPath },
    reload: async (next) => {
      const reloaded = await reload(running, { workers, reports, ticks }, next)
      parts.metrics.configReload(true, clock.now())
      await presence.report().catch(() => undefined) // It says so again soon.
      return reloaded
    },
    refused: () => parts.metrics.configReload(false, clock.now()),
    health,
    counts: async () => {
      const [accounts, overdue] = await Promise.all([
        due.countDue('refresh', Number.POSITIVE_INFINITY),
        due.countOverdue(clock.now() - OVERDUE_AFTER_MS),
      ])
      return { accounts, overdue }
    },
  }
}

/** Reads for whoever asks and gives up soon; refreshes as the job does, on the connection that waits. */
function createAccessTokens(running: Running, pages: Store): AccessTokens {
  const { keys, vault, clock } = running.parts
  return new AccessTokens({
    tokens: new TokenStore(pages, keys),
    vault,
    refresh: (hubId, generation) => refreshOne(running.work, hubId, generation),
    identify: async (hubId) => ((await identifyOne(running.work, hubId))?.is === 'later' ? 'later' : 'asked'),
    clock,
  })
}

/** Who this daemon is, where daemons tell of themselves. */
function ownName(): string {
  return `${hostname()} pid ${process.pid}`
}
