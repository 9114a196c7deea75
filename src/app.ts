import { hostname } from 'node:os'
import type { Config } from '../config/schema/schema.ts'
import { NO_CLOCK, startClock, type TickingClock } from '../jobs/clock.ts'
import { NO_WORKERS, startWorkers, type Workers } from '../jobs/workers.ts'
import { DueSets, OVERDUE_AFTER_MS } from './accounts/due-sets.ts'
import { recheckWaiting } from './alerts/sending/read-due.ts'
import { accountJobs, createAccessTokens } from './app/account-jobs.ts'
import { openConfigAudit } from './app/config-audit.ts'
import { processFactsOf } from './app/health.ts'
import { adminTokenOf, brandOf, httpDeps, type Web } from './app/http.ts'
import type { AppInput } from './app/input.ts'
import { startDaemonReports } from './app/process-reports.ts'
import { type Reloaded, reload, replanInBackground } from './app/reload.ts'
import { openResources } from './app/resources.ts'
import { buildServices, type Services } from './app/services.ts'
import { type DataWatch, startDataWatch, tendAppendOnlyFile } from './app/watches.ts'
import { AuditLog } from './audit/audit-log.ts'
import { type HealthReport, judgeHealth } from './checks/health-report.ts'
import type { ProcessFacts } from './checks/process-facts.ts'
import { ROLES, type Role, ticks } from './heartbeat/daemons.ts'
import { mainToken, makeToken, OF_MACHINE } from './http/access/admin-tokens.ts'
import { startHttpServer } from './http/server.ts'
import { connectRedis, onReady, type Store } from './redis/connect.ts'
import { openData } from './redis/open-data.ts'
import { atInterval, InForce } from './runtime/concurrency.ts'
import { removeDaemonFile, writeDaemonFile } from './runtime/daemon-file.ts'
import type { Lifecycle } from './runtime/lifecycle.ts'
import type { Logger } from './runtime/logger.ts'
import { watchFileRoom } from './runtime/process.ts'
import type { AccessTokens } from './tokens/access-token.ts'
import { describeStuck, resealLines, storeSealed } from './tokens/sealed-tokens.ts'
import { checkKeys } from './tokens/vault-keys.ts'

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

/** Longest time of a stop for each step: work in progress, the last report, running requests. */
const WORK_STOP_MS = 8_000
const REPORT_STOP_MS = 500
const HTTP_STOP_MS = 5_000
const UNSEAL_EVERY_MS = 300_000

/** State of this daemon from its first step on; parts that start later are filled in then. */
interface Daemon {
  inForce: InForce<Services>
  lifecycle: Lifecycle
  roles: ReadonlySet<Role>
  /** The connection of requests: one that gives up soon. */
  pages: Store
  startedAt: number | undefined
  ticks: TickingClock
  dataWatch: DataWatch | undefined
  /** Trouble with answers in the data folder. */
  answersTrouble: string | undefined
}

/**
 * The daemon: what is opened once, services from that and the config, and what works by them. Each step is built on those above
 * it, and taken down in reverse. HTTP comes first, so that requests have an answer while Redis is awaited. The caller closes
 * `lifecycle`, also when this throws. Without some of the roles, other daemons must have them.
 */
export async function startApp(
  input: AppInput,
  lifecycle: Lifecycle,
  roles: ReadonlySet<Role> = new Set(ROLES),
): Promise<App> {
  const resources = await openResources(input, lifecycle, 'steps')
  const { clock, log, store, keys, vault, metrics } = resources
  const pages = connectRedis(resources.address, 'pages', () => {}) // Requests have an answer; the steps' connection logs.
  lifecycle.onClose("the pages' connection", () => pages.disconnect())
  const inForce = new InForce(buildServices(resources, input.config))
  lifecycle.onClose('the receivers', () => inForce.value.close())
  const daemon: Daemon = {
    inForce,
    lifecycle,
    roles,
    pages,
    startedAt: undefined,
    ticks: NO_CLOCK,
    dataWatch: undefined,
    answersTrouble: undefined,
  }
  const audit = new AuditLog({ ...resources, store: pages })
  const ofConfig = openConfigAudit(() => inForce.value, { audit, store: pages }, nameOfDaemon())
  const { http, facts, accessTokens } = await serve(daemon)
  await openData(resources, lifecycle)
  await checkKeys(store, keys, vault)
  keepUnsealing(daemon, input.config.dataDir)
  const reports = await startReports(daemon, facts)
  await inForce.value.deliveries.enable([...inForce.value.receivers.values()], clock.now())
  // The config may have other quiet hours, tags or routes than the one by which they are held back.
  await recheckWaiting(inForce.value)
  startWork(daemon, accessTokens)
  const endFileWatch = watchFileRoom(log)
  lifecycle.onClose('the watch on open files', async () => endFileWatch())

  void ofConfig.started()
  daemon.startedAt = clock.now()
  metrics.started(daemon.startedAt)
  metrics.configReload(true, daemon.startedAt)
  const as = { url: http.url, pid: process.pid, roles: [...roles] }
  log.info({ code: 'daemon.started', ...as }, `Plimsoll is running: ${http.url}`)
  return {
    url: http.url,
    signInPath: http.signInPath,
    health: async () => judgeHealth(await facts()),
    reload: async (next) => {
      const followers = { now: [daemon.ticks], http }
      const reloaded = await reload(inForce, followers, reports, next)
      metrics.configReload(true, clock.now())
      await ofConfig.reloaded(reloaded)
      return reloaded
    },
    refused: () => {
      metrics.configReload(false, clock.now())
      void ofConfig.refused()
    },
    counts: () => countTokens(new DueSets(pages, keys), clock.now()),
  }
}

/** A daemon that needs nothing else of its data folder works without it. */
function leaveAddress(dataDir: string, address: Parameters<typeof writeDaemonFile>[1], log: Logger): void {
  try {
    writeDaemonFile(dataDir, address)
  } catch (error) {
    const message = 'daemon.json could not be written: commands of this machine need --url and --token'
    log.warn({ code: 'http.no-daemon-file', err: error }, message)
  }
}

/** Pages, API and probes, by the services of the moment. */
async function serve(daemon: Daemon) {
  const { inForce, lifecycle, roles, pages } = daemon
  const { config, log, budget } = inForce.value
  const current = () => inForce.value
  const stopping = new AbortController()
  const accessTokens = createAccessTokens(current, pages)
  const own = () => ({
    roles,
    startedAt: daemon.startedAt,
    ticks: daemon.ticks.lastTicks(),
    dataTrouble: daemon.dataWatch?.trouble,
    answersTrouble: daemon.answersTrouble,
  })
  const facts = processFactsOf(current, pages, own)
  const servesPages = roles.has('web')
  const token = makeToken()
  const web: Web = {
    pages,
    accessTokens,
    servesPages,
    stop: stopping.signal,
    isStarting: () => daemon.startedAt === undefined,
    health: async () => judgeHealth(await facts()),
    jobs: accountJobs(current, stopping.signal),
    adminTokens: {
      main: adminTokenOf(config, servesPages, log),
      local: servesPages ? mainToken(OF_MACHINE, token) : undefined,
    },
    brand: brandOf(config),
  }
  const server = await startHttpServer(httpDeps(web, inForce.value))
  if (servesPages) {
    leaveAddress(config.dataDir, { url: server.url, token: token.reveal() }, log)
    lifecycle.onClose('the address for commands', async () => removeDaemonFile(config.dataDir, token.reveal()))
  }
  const http = { ...server, prepare: async (services: Services) => server.prepare(httpDeps(web, services)) }
  lifecycle.onClose('the HTTP server', () => {
    // A request for a poll, a refresh or a test is answered that it was cut off.
    stopping.abort()
    return http.close(budget.of(HTTP_STOP_MS))
  })
  return { http, facts, accessTokens }
}

/** Also what a command left in the folder of sealed tokens, or what waits for a Redis that has its data again. */
function keepUnsealing({ inForce, lifecycle }: Daemon, dataDir: string): void {
  const unseal = () =>
    storeSealed(inForce.value, dataDir).catch((error: unknown) => {
      const { log } = inForce.value
      log.error({ code: 'token.not-unsealed', err: error }, 'the folder of sealed tokens could not be read or written')
    })
  void unseal()
  onReady(inForce.value.store, () => void inForce.value.pending.storeAgain())
  const end = atInterval(unseal, UNSEAL_EVERY_MS)
  lifecycle.onClose('the sweep of sealed tokens', async () => end())
}

/** Checks the data in Redis, and reports there that this daemon runs, by which config, and with which key it encrypts. */
async function startReports(daemon: Daemon, facts: () => Promise<ProcessFacts>) {
  const { inForce, lifecycle, roles } = daemon
  const current = () => inForce.value
  const { budget } = inForce.value
  daemon.dataWatch = await startDataWatch(current)
  lifecycle.onClose('the watch over the data', () => daemon.dataWatch?.stop())
  const reports = await startDaemonReports(current, nameOfDaemon(), roles, facts, () => resealOwn(daemon))
  // A Redis that is away is not waited for: a daemon that says nothing is soon taken for gone.
  lifecycle.onClose('the reports that it runs', () => budget.wait(REPORT_STOP_MS, reports.stop()))
  const endRewrites = tendAppendOnlyFile(inForce.value)
  lifecycle.onClose('the rewrites of the append-only file', async () => endRewrites())
  return reports
}

/** Returns the ids of keys that answers in the data folder are under all the same. */
function resealOwn(daemon: Daemon): readonly string[] {
  const { vault, config } = daemon.inForce.value
  try {
    const stuck = resealLines(vault, config.dataDir)
    daemon.answersTrouble = describeStuck(stuck)
    return [...new Set(stuck.flatMap(({ needs }) => needs ?? []))]
  } catch (error) {
    // An unreadable file may be under any of the keys.
    daemon.answersTrouble = `dataDir/answers can't be read: ${String(error)}`
    return vault.keyIds.slice(1)
  }
}

/** The workers on the queues and the clock: none, where that is left to other daemons. */
function startWork(daemon: Daemon, accessTokens: AccessTokens): Workers {
  const { inForce, lifecycle, roles } = daemon
  const { endpoint, budget, queues, config, clock, log } = inForce.value
  const workers = roles.has('worker') ? startWorkersOf(inForce, lifecycle) : NO_WORKERS
  lifecycle.onClose('the workers', async () => {
    const ms = budget.of(WORK_STOP_MS)
    await Promise.all([workers.stop(ms), accessTokens.stop(ms)])
  })
  // Ahead of the workers: none of their jobs is left in its line.
  lifecycle.onClose('the line of the token endpoint', async () => endpoint.close())
  if (ticks(roles)) daemon.ticks = startClock(queues, config.schedule, clock, log)
  lifecycle.onClose('the clock', async () => daemon.ticks.stop())
  if (roles.has('worker')) replanInBackground(inForce.value)
  return workers
}

function startWorkersOf(inForce: InForce<Services>, lifecycle: Lifecycle): Workers {
  const { address, queues } = inForce.value
  const store = connectRedis(address, 'queues', () => {}) // BullMQ reports its connection's errors itself.
  lifecycle.onClose("the workers' connection", () => store.disconnect())
  const workers = startWorkers(store, inForce)
  const hearing = connectRedis(address, 'queues', () => {}) // The workers' connection reports.
  lifecycle.onClose('the connection for wake-ups', () => hearing.disconnect())
  // Not awaited: without a Redis the ticks still start every sweep.
  void queues.listenForWakes(hearing, workers.wake)
  return workers
}

function nameOfDaemon(): string {
  return `${hostname()} pid ${process.pid}`
}

async function countTokens(due: DueSets, now: number): Promise<{ accounts: number; overdue: number }> {
  const [accounts, overdue] = await Promise.all([
    due.countDue('refresh', Number.POSITIVE_INFINITY),
    due.countOverdue(now - OVERDUE_AFTER_MS),
  ])
  return { accounts, overdue }
}
