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
export async function reloadConfig(
  io: Io,
  file: string,
  starting: Promise<App>,
  log: Logger,
): Promise<'taken' | 'refused'> {
  try {
    const result = loadConfig({ file, env: io.env, cwd: io.cwd, now: io.clock.now(), validateCron: isCronExpression })
    if (!result.ok) throw new RefusedError(result.problems.map((problem) => renderProblem(file, problem)))
    const { applied, restart } = await (await starting).reload(result.config)
    for (const { path, message } of result.notices) log.warn({ code: 'config.notice', path }, message)
    const later = restart.length === 0 ? '' : `; needs a restart: ${restart.join(', ')}`
    log.info({ code: 'config.reloaded', applied, restart }, `the config file was read again${later}`)
    return 'taken'
  } catch (error) {
    if (!io.stop.aborted) tellRefused(log, error)
    // Who is still starting has nothing in force yet that the file could differ from.
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
