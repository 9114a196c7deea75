import { type Command, InvalidArgumentError } from 'commander'
import { startApp } from '../app.ts'
import { isRole, ROLES, type Role } from '../heartbeat/roles.ts'
import { collectGarbage, growHeapEvenly } from '../runtime/heap.ts'
import { inTurn } from '../runtime/in-turn.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { LogFile } from '../runtime/log-file.ts'
import { createLogger, type Logger } from '../runtime/logger.ts'
import { checkInstalled } from './check-installed.ts'
import { readConfig } from './config-file.ts'
import { CommandError, describeError, type Io } from './io.ts'
import { type CommonOptions, withConfig, withExample } from './options.ts'
import { reloadConfig } from './reload.ts'
import { serveServiceManager } from './service.ts'

export function addStart(program: Command, io: Io): void {
  const command = withConfig(program.command('start')).description(
    'run the daemon until SIGTERM; SIGHUP reads the config file again',
  )
  command.option(
    '--roles <list>',
    'what this daemon does of clock, worker and web; others must do the rest',
    parseRoles,
  )
  withExample(
    command,
    'plimsoll start --config config/plimsoll.yaml',
    'plimsoll start --config config/plimsoll.yaml --roles worker',
  ).action((options: StartOptions) => start(io, options))
}

interface StartOptions extends CommonOptions {
  /** Undefined: all of them. */
  roles?: ReadonlySet<Role>
}

function parseRoles(text: string): ReadonlySet<Role> {
  const roles = text.split(',').map((role) => role.trim())
  if (!roles.every(isRole)) throw new InvalidArgumentError(`Roles are ${ROLES.join(', ')}, with commas between them.`)
  return new Set(roles)
}

/** The first sweeps are over by then. */
const STARTED_AFTER_MS = 3_000

async function start(io: Io, { config: file, roles }: StartOptions): Promise<void> {
  growHeapEvenly()
  const { config, notices } = readConfig(io, file)
  checkInstalled(io, file, config, 'begins')
  const logFile = openLogFile(io, config.log.file)
  const log = createLogger(config.log, logFile)
  for (const { path, message } of notices) log.warn({ code: 'config.notice', path }, message)

  const stopped = new Promise<void>((resolve) => io.stop.addEventListener('abort', () => resolve(), { once: true }))
  const lifecycle = new Lifecycle()
  const starting = startApp({ config, clock: io.clock, random: io.random, log }, lifecycle, roles)
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
  } finally {
    await lifecycle.close()
    // A start that was interrupted mostly fails because its parts were taken away; what it opened last is closed too. It
    // may also wait for ever, on a connection that never was one.
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

/** It may have been moved away: that is why logrotate sends the signal. */
function reopen(logFile: LogFile | undefined, log: Logger): void {
  try {
    logFile?.reopen()
  } catch (error) {
    log.error({ code: 'log.not-reopened', err: error }, 'the log file could not be opened anew: the old one goes on')
  }
}
