import type { App } from '../app.ts'
import { type HealthReport, illOf } from '../checks/health-report.ts'
import type { Logger } from '../runtime/logger.ts'
import { findServiceManager, type ServiceManager } from '../runtime/service-manager.ts'
import { countOf } from '../text/format-number.ts'
import type { Io } from './io.ts'

/** Reports of the daemon to the service manager; without one nothing happens. */
interface Service {
  /** Reports that the config file is being read, and then whether it was taken over. */
  reloading(work: () => Promise<'taken' | 'refused'>): Promise<void>
  stopping(): Promise<void>
}

/** A start may take as long as Redis needs to load its file; each word gives it so long. */
const START_EXTENSION_MS = 60_000
const START_WORD_MS = 15_000
/** A watchdog is fed three times in its time, and a status is renewed as often at least. */
const FEEDS = 3
const STATUS_MS = 60_000

/** Reports the start, and then the state in each period, until a signal stops the daemon. */
export function serveServiceManager(io: Io, starting: Promise<App>, log: Logger): Service {
  const manager = findServiceManager(io.env, process.pid, log)
  if (manager === undefined) return { reloading: async (work) => void (await work()), stopping: async () => {} }
  const told: Told = { manager, isFileRefused: false, isStarving: false }
  void tellOfStart(io, told, starting)
    .then((app) => app && tellOfWork(io, told, app, log))
    .catch(() => undefined) // The caller reports a start that failed.
  return {
    reloading: async (work) => {
      await manager.send('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`)
      told.isFileRefused = (await work()) === 'refused'
      await manager.send('READY=1', ...(told.isFileRefused ? [`STATUS=${REFUSED}`] : []))
    },
    stopping: () => manager.send('STOPPING=1', 'STATUS=stopping'),
  }
}

interface Told {
  manager: ServiceManager
  isFileRefused: boolean
  /** The last report did not feed the watchdog: no work moved. */
  isStarving: boolean
}

const REFUSED = 'the config file was refused, the one before is in force: see the log'

async function tellOfStart({ clock, stop }: Io, { manager }: Told, starting: Promise<App>): Promise<App | undefined> {
  const begun = starting.then((app) => app)
  for (;;) {
    const pause = new AbortController()
    const first = await Promise.race([begun, clock.wait(START_WORD_MS, AbortSignal.any([stop, pause.signal]))])
    pause.abort()
    if (stop.aborted) return undefined
    if (first !== undefined) return first
    await manager.send(`EXTEND_TIMEOUT_USEC=${START_EXTENSION_MS * 1_000}`, 'STATUS=starting: waiting for Redis')
  }
}

async function tellOfWork({ clock, stop }: Io, told: Told, app: App, log: Logger): Promise<void> {
  const { manager } = told
  const periodMs = Math.min(STATUS_MS, (manager.watchdogMs ?? Number.POSITIVE_INFINITY) / FEEDS)
  await manager.send('READY=1', `STATUS=at work: ${app.url}`)
  while (!stop.aborted) {
    await clock.wait(periodMs, stop)
    if (stop.aborted) return
    // A report that fails is sent in the next period: the service manager ends a daemon that stays silent.
    await tellOnce(told, app, log).catch((error: unknown) => {
      log.warn(
        { code: 'systemd.unheard', err: error },
        'the state of the daemon could not be read: systemd gets it next time',
      )
    })
  }
}

async function tellOnce(told: Told, app: App, log: Logger): Promise<void> {
  const health = await app.health()
  tellOfStarving(told, health, log)
  await told.manager.send(...(health.alive ? ['WATCHDOG=1'] : []), `STATUS=${await statusText(told, app, health)}`)
}

/** Logs that work has stopped. The service manager ends a daemon that does not feed its watchdog, and starts another one. */
function tellOfStarving(told: Told, health: HealthReport, log: Logger): void {
  if (!health.alive && !told.isStarving) {
    const reasons = troubles(health)
    log.error(
      { code: 'systemd.no-progress', reasons },
      `nothing moves: the watchdog is not fed until work moves again (${reasons.join('; ')})`,
    )
  }
  told.isStarving = !health.alive
}

async function statusText({ isFileRefused }: Told, app: App, health: HealthReport): Promise<string> {
  const found = troubles(health)
  const counts = await app.counts().catch(() => undefined)
  const fleet =
    counts === undefined ? [] : [`${countOf(counts.accounts, 'account')}, ${counts.overdue} overdue for a refresh`]
  return [...fleet, ...found, ...(isFileRefused ? [REFUSED] : [])].join('; ')
}

function troubles(health: HealthReport): string[] {
  return illOf(health).map(({ name, says }) => `${name}: ${says}`)
}
