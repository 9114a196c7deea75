import type { Command } from 'commander'
import { configJsonSchema } from '../../config/json-schema.ts'
import { loadConfig } from '../../config/load.ts'
import { configInForce, printConfig } from '../../config/print.ts'
import { renderProblem } from '../../config/problems.ts'
import { isCronExpression } from '../../jobs/clock.ts'
import { countOf } from '../text/format-number.ts'
import { readConfig } from './config-file.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { type CommonOptions, withConfig, withExample, withJson } from './options.ts'
import { say } from './say.ts'

export function addConfig(program: Command, io: Io): void {
  const config = program.command('config').description('check, describe or print the config')

  const check = withJson(withConfig(config.command('check').argument('[file]', 'the file to check')))
  withExample(check, 'plimsoll config check config/plimsoll.yaml')
    .description('report every problem of a config file')
    .action((file: string | undefined, options: CommonOptions) => checkFile(io, file ?? options.config, options))

  withExample(withJson(config.command('schema')), 'plimsoll config schema > plimsoll.schema.json')
    .description('print the JSON Schema of the config file, for editors')
    .action(() => printJson(io, configJsonSchema()))

  withExample(withJson(withConfig(config.command('print'))), 'plimsoll config print --config config/plimsoll.yaml')
    .description('print the config that is in force, defaults filled in, secrets masked')
    .action((options: CommonOptions) => print(io, options))
}

function print(io: Io, options: CommonOptions): void {
  const { config } = readConfig(io, options.config)
  if (options.json === true) printJson(io, configInForce(config))
  else io.out(printConfig(config))
}

function checkFile(io: Io, file: string, { json }: CommonOptions): void {
  const result = loadConfig({ file, env: io.env, cwd: io.cwd, validateCron: isCronExpression, now: io.clock.now() })
  if (json === true) {
    printJson(io, result.ok ? { ok: true, notices: result.notices } : { ok: false, problems: result.problems })
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
