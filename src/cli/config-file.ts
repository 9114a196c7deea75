import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadConfig } from '../../config/load.ts'
import { type Notice, renderProblem } from '../../config/problems.ts'
import type { Config } from '../../config/schema.ts'
import { isCronExpression } from '../../jobs/clock.ts'
import { CommandError, type Io } from './io.ts'

const WAY_OUT = 'name it with --config FILE or PLIMSOLL_CONFIG; the README has a small one to begin with'

/** The config that a command runs on. Throws CommandError with every problem of the file. */
export function readConfig(io: Io, file: string): { config: Config; notices: Notice[] } {
  if (!existsSync(resolve(io.cwd, file))) throw new CommandError(`there is no config file ${file}: ${WAY_OUT}`)
  const result = loadConfig({ file, env: io.env, cwd: io.cwd, validateCron: isCronExpression, now: io.clock.now() })
  if (result.ok) return result
  throw new CommandError(result.problems.map((problem) => renderProblem(file, problem)).join('\n'))
}
