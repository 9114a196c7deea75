import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { loadConfig } from '../../config/schema/load.ts'
import { type Notice, renderProblem } from '../../config/schema/problems.ts'
import type { Config } from '../../config/schema/schema.ts'
import { isCronExpression } from '../../jobs/clock.ts'
import { missingData } from '../app/data-folder.ts'
import { CommandError, type Io } from './io.ts'

const NAME_ONE = 'name it with --config FILE or PLIMSOLL_CONFIG, or write one with plimsoll init'

/** A config file as commands read it. */
export function load(io: Pick<Io, 'env' | 'cwd' | 'clock'>, file: string, readFile?: (path: string) => string) {
  const { env, cwd, clock } = io
  const how = readFile === undefined ? {} : { readFile }
  return loadConfig({ file, env, cwd, ...how, validateCron: isCronExpression, now: clock.now() })
}

/** The config that a command runs on. Throws CommandError with every problem of the file. */
export function readConfig(io: Io, file: string): { config: Config; notices: Notice[] } {
  if (!existsSync(resolve(io.cwd, file))) throw new CommandError(`there is no config file ${file}: ${NAME_ONE}`)
  const result = load(io, file)
  if (result.ok) return result
  throw new CommandError(result.problems.map((problem) => renderProblem(file, problem)).join('\n'))
}

/** `begins`: the command may start an installation where there is none yet. */
type WithoutData = 'refuses' | 'begins'

/** Throws CommandError where a command may not begin an installation: in a wrong folder it would show no accounts. */
export function checkInstalled(config: Config, without: WithoutData): void {
  const missing = missingData(config)
  if (missing === undefined) return
  if (without === 'begins') return
  const hint =
    missing === config.dataDir
      ? 'plimsoll start begins an installation there; the dataDir of the right config file leads to one that you have'
      : 'restore the key from a backup'
  throw new CommandError(`no Plimsoll data at ${missing}: ${hint}`)
}
