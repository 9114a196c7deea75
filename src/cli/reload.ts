import { loadConfig } from '../../config/load.ts'
import { renderProblem } from '../../config/problems.ts'
import { isCronExpression } from '../../jobs/clock.ts'
import type { App } from '../app.ts'
import type { Logger } from '../runtime/logger.ts'
import { KeysError } from '../tokens/canary.ts'
import type { Io } from './io.ts'

/**
 * SIGHUP: the daemon reads its file again and takes over what it can. A file that can't be used changes nothing. Never
 * throws; the log says what came of it.
 */
export async function reloadConfig(io: Io, file: string, starting: Promise<App>, log: Logger): Promise<void> {
  const result = loadConfig({ file, env: io.env, cwd: io.cwd, now: io.clock.now(), validateCron: isCronExpression })
  if (!result.ok) {
    return refuse(
      log,
      result.problems.map((problem) => renderProblem(file, problem)),
    )
  }
  try {
    const app = await starting
    const { applied, restart } = await app.reload(result.config)
    for (const { path, message } of result.notices) log.warn({ code: 'config.notice', path }, message)
    const later = restart.length === 0 ? '' : `; needs a restart: ${restart.join(', ')}`
    log.info({ code: 'config.reloaded', applied, restart }, `the config file was read again${later}`)
  } catch (error) {
    if (io.stop.aborted) return
    if (error instanceof KeysError) return refuse(log, error.problems)
    log.error(
      { code: 'config.refused', err: error },
      'the config file could not be taken over: the old one stays in force',
    )
  }
}

function refuse(log: Logger, problems: readonly string[]): void {
  log.error(
    { code: 'config.refused', problems },
    `the config file is refused, the old one stays in force: ${problems.join('; ')}`,
  )
}
