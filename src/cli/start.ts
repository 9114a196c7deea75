import { renderProblem } from '../../config/schema/problems.ts'
import { type App, startApp } from '../app.ts'
import type { Role } from '../heartbeat/daemons.ts'
import { inTurn } from '../runtime/concurrency.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { LogFile } from '../runtime/log-file.ts'
import { createLogger, type Logger } from '../runtime/logger.ts'
import { collectGarbage, collectYoungOnMainThread, growHeapEvenly } from '../runtime/process.ts'
import { KeysError } from '../tokens/vault-keys.ts'
import type { CommonOptions } from './arguments.ts'
import { checkInstalled, load, readConfig } from './installation.ts'
import { CommandError, describeError, type Io, proxiesOf } from './io.ts'
import { explainStoreError } from './local-api.ts'
import { serveServiceManager } from './service.ts'

interface StartOptions extends CommonOptions {
  /** Undefined: all of them. */
  roles?: ReadonlySet<Role>
}

/** The first sweeps are over by then. */
const STARTED_AFTER_MS = 3_000

/** `plimsoll start`. */
export async function start(io: Io, { config: file, roles }: StartOptions): Promise<void> {
  growHeapEvenly()
  collectYoungOnMainThread()
  const { config, notices } = readConfig(io, file)
  checkInstalled(config, 'begins')
  const logFile = openLogFile(io, config.log.file)
  const log = createLogger(config.log, logFile)
  for (const { path, message } of notices) log.warn({ code: 'config.notice', path }, message)

  const stopped = new Promise<void>((resolve) => io.stop.addEventListener('abort', () => resolve(), { once: true }))
  const lifecycle = new Lifecycle()
  const starting = startApp(
    {
      config,
      clock: io.clock,
      random: io.random,
      log,
      proxyFor: proxiesOf(io),
      place: { file, env: io.env, cwd: io.cwd },
    },
    lifecycle,
    roles,
  )
  const service = serveServiceManager(io, starting, log)
  // One after the other: the file that was read last must be the one that counts.
  const readAgain = inTurn(() => service.reloading(() => reloadConfig(io, file, starting, log)))
  io.onHangUp(() => {
    reopen(logFile, log)
    readAgain()
  })
  try {
    await Promise.race([starting, stopped])
    await io.clock.wait(STARTED_AFTER_MS, io.stop)
    if (!io.stop.aborted) collectGarbage()
    await stopped
    log.info({ code: 'daemon.stopping' }, 'stopping')
    void service.stopping()
  } catch (error) {
    throw explainStoreError(error)
  } finally {
    await lifecycle.close()
    // A start that was interrupted mostly fails because its parts were closed; parts that it opened last are closed too. It may
    // also wait for ever, on a connection that never was one.
    await Promise.race([starting.catch(() => undefined), io.clock.wait(1_000)])
    await lifecycle.close()
  }
  log.info({ code: 'daemon.stopped' }, 'stopped')
}

function openLogFile(io: Io, path: string | undefined): LogFile | undefined {
  try {
    return path === undefined ? undefined : new LogFile(path, io.clock.now, io.err)
  } catch (error) {
    throw new CommandError(`log.file can't be opened: ${describeError(error)}; let this user write there`)
  }
}

/** logrotate moves the file away, and then sends the signal. */
function reopen(logFile: LogFile | undefined, log: Logger): void {
  try {
    logFile?.reopen()
  } catch (error) {
    log.error(
      { code: 'log.not-reopened', err: error },
      'the log file could not be reopened: logging continues in the old one',
    )
  }
}

/**
 * SIGHUP: the daemon reads its file again and takes over the settings that it can. A file that can't be used changes nothing.
 * Never throws; the log has the outcome.
 */
async function reloadConfig(io: Io, file: string, starting: Promise<App>, log: Logger): Promise<'taken' | 'refused'> {
  try {
    const result = load(io, file)
    if (!result.ok) throw new RefusedError(result.problems.map((problem) => renderProblem(file, problem)))
    const { applied, restart } = await (await starting).reload(result.config)
    for (const { path, message } of result.notices) log.warn({ code: 'config.notice', path }, message)
    const later = restart.length === 0 ? '' : `; needs a restart: ${restart.join(', ')}`
    log.info({ code: 'config.reloaded', applied, restart }, `the config file was read again${later}`)
    return 'taken'
  } catch (error) {
    if (!io.stop.aborted) tellRefused(log, error)
    // A daemon that is still starting has nothing in force yet that the file could differ from.
    void starting.then((app) => app.refused()).catch(() => undefined)
    return 'refused'
  }
}

class RefusedError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join('; '))
    this.problems = problems
  }
}

function tellRefused(log: Logger, error: unknown): void {
  const staying = 'the old one stays in force'
  if (error instanceof RefusedError || error instanceof KeysError) {
    const { problems } = error
    log.error({ code: 'config.refused', problems }, `the config file is refused, ${staying}: ${problems.join('; ')}`)
  } else {
    log.error({ code: 'config.refused', err: error }, `the config file could not be taken over: ${staying}`)
  }
}
