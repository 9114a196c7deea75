import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { jsonText } from '../runtime/json-text.ts'
import { cleanText } from '../text/clean-text.ts'
import type { CommandSpec } from './arguments.ts'
import { FIRST_WORDS, optionsOf, programOptions, readCommands } from './commands.ts'
import { describeError, ExitCode, type Io } from './io.ts'

/** Exit codes: 0 done; 1 failed, with one line why; 2 wrong usage. `check` has those of monitoring systems instead. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<number> {
  try {
    const program = buildProgram(await readCommands(), io)
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof ExitCode) return error.code
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0
      return commandIn(args) === 'check' ? unknown(io, args, `wrong usage: ${usageProblem(error.message)}`) : 2
    }
    const why = describeError(error)
    io.err(`plimsoll: ${why}\n`)
    if (commandIn(args) === 'check') return unknown(io, args, why)
    return commandIn(args) === 'status' && args.includes('--exit-code') ? UNKNOWN : 1
  }
}

/** The exit code of what keeps a check from knowing; the one line on standard output is what monitoring shows. */
const UNKNOWN = 3

function unknown(io: Io, args: readonly string[], why: string): number {
  const json = {
    at: new Date(io.clock.now()).toISOString(),
    accounts: [],
    status: 'unknown',
    exitCode: UNKNOWN,
    error: why,
  }
  if (args.includes('--json')) io.out(`${jsonText(json)}\n`)
  else io.out(`PLIMSOLL UNKNOWN - ${cleanText(why.replaceAll('|', '/'), 300)}\n`)
  return UNKNOWN
}

/** The first word of the command, which the config may stand before. */
function commandIn(args: readonly string[]): string | undefined {
  return args.find((arg, n) => !arg.startsWith('-') && !['-c', '--config'].includes(args[n - 1] ?? ''))
}

function buildProgram(commands: ReadonlyMap<string, CommandSpec>, io: Io): Command {
  const program = new Command('plimsoll')
    .description(
      "Keeps every installed account's OAuth tokens alive, watches its limits, alerts before they are reached.",
    )
    .version(packageJson.version)
  for (const option of programOptions()) program.addOption(option)
  const groups = new Map<string, Command>()
  for (const [path, spec] of commands) {
    const [first = '', second] = path.split(' ')
    const group =
      second === undefined
        ? program
        : (groups.get(first) ?? program.command(first).description(FIRST_WORDS[first] ?? ''))
    if (second !== undefined) groups.set(first, group)
    addCommand(group.command(second ?? first), path, spec, io)
  }
  prepare(program, io)
  return program.hook('preAction', (_, command) => handDownConfig(program, command, io))
}

function addCommand(command: Command, path: string, spec: CommandSpec, io: Io): void {
  command.description(spec.is)
  for (const argument of spec.args ?? []) command.addArgument(argument)
  for (const option of optionsOf(spec)) command.addOption(option)
  if (spec.notes !== undefined) command.addHelpText('after', spec.notes)
  const examples = (spec.examples ?? ['']).map((words) => `  $ plimsoll ${path} ${words}`.trimEnd())
  command.addHelpText('after', `\nExample:\n${examples.join('\n')}`)
  command.action(async (...given: unknown[]) => {
    const { timeout: waitMs } = command.opts<{ timeout?: number }>()
    return (await spec.run())(waitMs === undefined ? io : { ...io, waitMs }, ...(given as never[]))
  })
}

/** Before the command or after it: `--config` is one option. */
function handDownConfig(program: Command, command: Command, io: Io): void {
  const { config = io.env.PLIMSOLL_CONFIG } = program.opts<{ config?: string }>()
  if (config !== undefined && config !== '') command.setOptionValue('config', config)
}

/** Every command reports to `io` and returns instead of ending the process. */
function prepare(command: Command, io: Io): void {
  command.exitOverride().configureOutput({
    writeOut: io.out,
    writeErr: io.err,
    getOutHelpWidth: () => io.columns,
    outputError: (text, write) => write(`plimsoll: ${usageProblem(text)} (${pathOf(command)} --help shows more)\n`),
  })
  for (const child of command.commands) prepare(child, io)
}

/** Wrong usage in one line: commander writes up to three. */
function usageProblem(text: string): string {
  return text
    .trim()
    .replace(/^error: /, '')
    .replace(/^command-argument value '(.*)' is invalid for argument '(.*)'\. (.)/s, (_, given, name, first) =>
      invalid(name, given, first),
    )
    .replace(/^option '(?:-\w, )?(\S+).*?' argument '(.*)' is invalid\. (.)/s, (_, name, given, first) =>
      invalid(name, given, first),
    )
    .replace(/\n?\(Did you mean (.*)\?\)$/, ': did you mean $1?')
    .replace(/\.$/, '')
    .replaceAll('\n', ' ')
}

function invalid(name: string, given: string, first: string): string {
  return `${name} can't be '${given}': ${first.toLowerCase()}`
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`
}
