import type { Command } from 'commander'
import { startApp } from '../app.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger } from '../runtime/logger.ts'
import { readConfig } from './config-file.ts'
import type { Io } from './io.ts'
import { type CommonOptions, withConfig, withExample } from './options.ts'
import { reloadConfig } from './reload.ts'

export function addStart(program: Command, io: Io): void {
  const command = withConfig(program.command('start')).description(
    'run the daemon until SIGTERM; SIGHUP takes over new keys',
  )
  withExample(command, 'plimsoll start --config config/plimsoll.yaml').action((options: CommonOptions) =>
    start(io, options),
  )
}

async function start(io: Io, { config: file }: CommonOptions): Promise<void> {
  const { config, notices } = readConfig(io, file)
  const log = createLogger(config.log)
  for (const { path, message } of notices) log.warn({ code: 'config.notice', path }, message)

  const stopped = new Promise<void>((resolve) => io.stop.addEventListener('abort', () => resolve(), { once: true }))
  const lifecycle = new Lifecycle()
  const starting = startApp({ config, clock: io.clock, random: io.random, log }, lifecycle)
  let reloaded = Promise.resolve()
  io.onHangUp(() => {
    // One after the other: the file that was read last must be the one that counts.
    reloaded = reloaded.then(() => reloadConfig(io, file, starting, log))
  })
  try {
    await Promise.race([starting, stopped])
    await stopped
    log.info({ code: 'daemon.stopping' }, 'stopping')
  } finally {
    await lifecycle.close()
    // A start that was interrupted mostly fails because its parts were taken away; what it opened last is closed too. It
    // may also wait for ever, on a connection that never was one.
    await Promise.race([starting.catch(() => undefined), io.clock.wait(1_000)])
    await lifecycle.close()
  }
  log.info({ code: 'daemon.stopped' }, 'stopped')
}
