import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { configJsonSchema } from '../../config/json-schema.ts'
import { loadConfig } from '../../config/load.ts'
import { configInForce, printConfig } from '../../config/print.ts'
import { renderProblem } from '../../config/problems.ts'
import { configReference } from '../../config/reference.ts'
import { isCronExpression } from '../../jobs/clock.ts'
import { countOf } from '../text/format-number.ts'
import { readConfig } from './config-file.ts'
import { CommandError, type Io, printJson } from './io.ts'
import { type CommonOptions, withConfig, withExample, withJson } from './options.ts'
import { say } from './say.ts'

export function addConfig(program: Command, io: Io): void {
  const config = program.command('config').description('check, describe or print the config')

  const check = withJson(
    withConfig(
      config.command('check').argument('[file]', 'the file to check, - for standard input; default: --config'),
    ),
  )
  withExample(check, 'plimsoll config check config/plimsoll.yaml')
    .description('report every problem of a config file')
    .action((file: string | undefined, options: CommonOptions) => checkFile(io, file ?? options.config, options))

  const schema = withJson(config.command('schema')).option('--markdown', 'every setting as a page to read instead')
  withExample(schema, 'plimsoll config schema > plimsoll.schema.json')
    .description('print the JSON Schema of the config file, for editors')
    .action(({ markdown }: { markdown?: true }) =>
      markdown === true ? io.out(configReference()) : printJson(io, 'config schema', configJsonSchema()),
    )

  withExample(withJson(withConfig(config.command('print'))), 'plimsoll config print --config config/plimsoll.yaml')
    .description('print the config that is in force, defaults filled in, secrets masked')
    .action((options: CommonOptions) => print(io, options))
}

function print(io: Io, options: CommonOptions): void {
  const { config } = readConfig(io, options.config)
  if (options.json === true) printJson(io, 'config print', { ...configInForce(config) })
  else io.out(printConfig(config))
}

async function checkFile(io: Io, given: string, { json }: CommonOptions): Promise<void> {
  const piped = given === '-' ? await readAll(io.stdin()) : undefined
  const file = given === '-' ? 'standard input' : given
  const readFile = (path: string) =>
    piped !== undefined && path === resolve(io.cwd, file) ? piped : readFileSync(path, 'utf8')
  const place = { env: io.env, cwd: io.cwd, readFile }
  const result = loadConfig({ file, ...place, validateCron: isCronExpression, now: io.clock.now() })
  if (json === true) {
    printJson(
      io,
      'config check',
      result.ok ? { ok: true, notices: result.notices } : { ok: false, problems: result.problems },
    )
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

async function readAll(stream: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString('utf8')
}
