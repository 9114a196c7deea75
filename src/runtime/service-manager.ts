import { spawn } from 'node:child_process'
import type { Logger } from './logger.ts'

/**
 * systemd's word channel (sd_notify): a datagram socket, which Node can't speak to. So systemd's own `systemd-notify`
 * carries each message: a process of some milliseconds, a few a minute. It waits until the message was read, so that
 * systemd still finds whose it is; not being the main process, it needs `NotifyAccess=all` in the unit.
 */
export interface ServiceManager {
  /** `READY=1`, `STATUS=...`; one message after the other. Never throws: there may be no service manager. */
  send(...assignments: string[]): Promise<void>
  /** How long it waits for a sign of progress, ms; undefined: for ever. */
  readonly watchdogMs: number | undefined
}

type Environment = Readonly<Record<string, string | undefined>>

const TIMEOUT_MS = 5_000

/** Undefined where no service manager started this process. */
export function findServiceManager(
  env: Environment,
  pid: number,
  log: Logger,
  timeoutMs = TIMEOUT_MS,
): ServiceManager | undefined {
  const { NOTIFY_SOCKET, PATH } = env
  if (NOTIFY_SOCKET === undefined || NOTIFY_SOCKET === '') return undefined
  let hasFailed = false
  let sending = Promise.resolve()
  const send = async (assignments: readonly string[]) => {
    const reason = await notify({ NOTIFY_SOCKET, PATH }, assignments, timeoutMs)
    if (reason !== undefined && !hasFailed) {
      const hint = 'apt-get install systemd, or Type=exec without WatchdogSec in the unit'
      log.error({ code: 'systemd.unheard', reason }, `systemd-notify could not report to systemd (${hint})`)
    }
    hasFailed = reason !== undefined
  }
  return {
    watchdogMs: watchdogOf(env, pid),
    send: (...assignments) => {
      sending = sending.then(() => send(assignments.map(oneLine)))
      return sending
    },
  }
}

/** Only meant for the process that is named, where one is. */
function watchdogOf({ WATCHDOG_USEC, WATCHDOG_PID }: Environment, pid: number): number | undefined {
  const ms = Number(WATCHDOG_USEC) / 1_000
  const isOurs = WATCHDOG_PID === undefined || WATCHDOG_PID === String(pid)
  return isOurs && Number.isFinite(ms) && ms > 0 ? ms : undefined
}

/** A line break would begin another message. */
function oneLine(assignment: string): string {
  return assignment.replace(/\s+/g, ' ')
}

/** Why it could not be sent. The next message waits for it: it ends in any case, by force if needed. */
function notify(
  env: NodeJS.ProcessEnv,
  assignments: readonly string[],
  timeoutMs: number,
): Promise<string | undefined> {
  const sent = new Promise<string | undefined>((resolve) => {
    const options = { env, stdio: 'ignore', timeout: timeoutMs, killSignal: 'SIGKILL' } as const
    const child = spawn('systemd-notify', assignments, options)
    child.on('error', (error) => resolve(error.message))
    child.on('exit', (code, signal) => resolve(code === 0 ? undefined : `it ended with ${signal ?? code}`))
  })
  // Want of memory, for one, is thrown.
  return sent.catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
}
