import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { configJsonSchema } from '../../config/schema/json-schema.ts'
import { configInForce, printConfig } from '../../config/schema/print.ts'
import { renderProblem } from '../../config/schema/problems.ts'
import { countOf } from '../text/format-number.ts'
import type { CommonOptions } from './arguments.ts'
import { readWhole } from './client.ts'
import { load, readConfig } from './installation.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { say } from './say.ts'

/** `plimsoll config print`. */
export function print(io: Io, options: CommonOptions): void {
  const { config } = readConfig(io, options.config)
  if (options.json === true) printJson(io, { ...configInForce(config) })
  else io.out(printConfig(config))
}

/** `plimsoll config check`. */
export async function checkFile(io: Io, named: string | undefined, { config, json }: CommonOptions): Promise<void> {
  const given = named ?? config
  const piped = given === '-' ? await readWhole(io.stdin()) : undefined
  const file = given === '-' ? 'standard input' : given
  const readFile = (path: string) =>
    piped !== undefined && path === resolve(io.cwd, file) ? piped : readFileSync(path, 'utf8')
  const result = load(io, file, readFile)
  if (json === true) {
    const { ok } = result
    printJson(io, ok ? { ok, notices: result.notices } : { ok, problems: result.problems })
  } else if (result.ok) {
    for (const notice of result.notices) say(io, renderProblem(file, notice))
    const { thresholds, routes, receivers } = result.config
    const counts = [countOf(thresholds.length, 'rule'), countOf(routes.length, 'route')]
    counts.push(countOf(Object.keys(receivers).length, 'receiver'))
    say(io, `${file} is fine: ${counts.join(', ')}`)
  } else {
    for (const problem of result.problems) say(io, renderProblem(file, problem))
  }
  if (!result.ok) throw new CommandError(`${file} has ${countOf(result.problems.length, 'problem')}`)
}

/** `plimsoll config schema`. */
export function schema(io: Io): void {
  printJson(io, configJsonSchema())
}
