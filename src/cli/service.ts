import type { App } from '../app.ts'
import { illOf } from '../checks/health-report.ts'
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
  const state: State = { manager, isFileRefused: false, isStarving: false }
  void reportStart(io, manager, starting)
    .then((app) => app && reportWork(io, state, app, log))
    .catch(() => undefined) // The caller reports a start that failed.
  return {
    reloading: async (work) => {
      await manager.send('RELOADING=1', `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`)
      state.isFileRefused = (await work()) === 'refused'
      await manager.send('READY=1', ...(state.isFileRefused ? [`STATUS=${REFUSED}`] : []))
    },
    stopping: () => manager.send('STOPPING=1', 'STATUS=stopping'),
  }
}

interface State {
  manager: ServiceManager
  isFileRefused: boolean
  /** The last report did not feed the watchdog: no work moved. */
  isStarving: boolean
}

const REFUSED = 'config file refused, the previous one is in force: see the log'

async function reportStart(
  { clock, stop }: Io,
  manager: ServiceManager,
  starting: Promise<App>,
): Promise<App | undefined> {
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

async function reportWork({ clock, stop }: Io, state: State, app: App, log: Logger): Promise<void> {
  const { manager } = state
  const periodMs = Math.min(STATUS_MS, (manager.watchdogMs ?? Number.POSITIVE_INFINITY) / FEEDS)
  await manager.send('READY=1', `STATUS=running: ${app.url}`)
  while (!stop.aborted) {
    await clock.wait(periodMs, stop)
    if (stop.aborted) return
    // A report that fails is sent in the next period: the service manager ends a daemon that stays silent.
    await reportOnce(state, app, log).catch((error: unknown) => {
      log.warn(
        { code: 'systemd.unheard', err: error },
        'the state of the daemon could not be read: systemd gets it next time',
      )
    })
  }
}

async function reportOnce(state: State, app: App, log: Logger): Promise<void> {
  const health = await app.health()
  const reasons = illOf(health).map(({ name, says }) => `${name}: ${says}`)
  // The service manager ends a daemon that does not feed its watchdog, and starts another one.
  if (!health.alive && !state.isStarving) {
    log.error(
      { code: 'systemd.no-progress', reasons },
      `nothing moves: the watchdog is not fed until work moves again (${reasons.join('; ')})`,
    )
  }
  state.isStarving = !health.alive
  const counts = await app.counts().catch(() => undefined)
  const accounts = counts && `${countOf(counts.accounts, 'account')}, ${counts.overdue} overdue for a refresh`
  const status = [accounts, ...reasons, state.isFileRefused && REFUSED].filter(Boolean).join('; ')
  await state.manager.send(...(health.alive ? ['WATCHDOG=1'] : []), `STATUS=${status}`)
}
