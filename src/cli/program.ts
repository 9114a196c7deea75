import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { describeError, ExitCode, type Io } from './io.ts'
import { usageLine, usageProblem } from './usage.ts'

type Add = (program: Command, io: Io) => void

/**
 * Commands by their first word, in the order of the help. Each is loaded only where it is wanted: all of them take a
 * second of CPU, and a daemon would keep for its life what it never runs.
 */
const GROUPS: Record<string, () => Promise<Add>> = {
  start: async () => (await import('./start.ts')).addStart,
  demo: async () => (await import('./demo.ts')).addDemo,
  sandbox: async () => (await import('./sandbox.ts')).addSandbox,
  status: async () => (await import('./status.ts')).addStatus,
  check: async () => (await import('./check.ts')).addCheck,
  doctor: async () => (await import('./doctor.ts')).addDoctor,
  config: async () => (await import('./config.ts')).addConfig,
  accounts: async () => (await import('./accounts.ts')).addAccounts,
  alerts: async () => (await import('./alerts.ts')).addAlerts,
  thresholds: async () => (await import('./thresholds.ts')).addThresholds,
  outbox: async () => (await import('./outbox.ts')).addOutbox,
  'admin-tokens': async () => (await import('./admin-tokens.ts')).addAdminTokens,
  keys: async () => (await import('./keys.ts')).addKeys,
  schema: async () => (await import('./schema.ts')).addSchema,
  completion: async () => (await import('./completion.ts')).addCompletion,
}

/** Exit codes: 0 done; 1 failed, with one line why; 2 wrong usage. `check` has those of monitoring systems instead. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<number> {
  try {
    const program = await buildProgram(io, wantedGroups(args))
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof ExitCode) return error.code
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0
      return args[0] === 'check' ? (await import('./check.ts')).checkUsage(io, usageProblem(error.message)) : 2
    }
    io.err(`plimsoll: ${describeError(error)}\n`)
    return 1
  }
}

/** All of them for whoever asks what there is, or for one that there isn't. */
function wantedGroups(args: readonly string[]): (() => Promise<Add>)[] {
  const name = args.find((word, n) => !word.startsWith('-') && !TAKES_A_VALUE.includes(args[n - 1] ?? ''))
  const wanted = name !== undefined && Object.hasOwn(GROUPS, name) ? GROUPS[name] : undefined
  return wanted === undefined || name === 'completion' ? Object.values(GROUPS) : [wanted]
}

/** Ahead of the command. */
const TAKES_A_VALUE = ['-c', '--config']

async function buildProgram(io: Io, groups: readonly (() => Promise<Add>)[]): Promise<Command> {
  const program = new Command('plimsoll')
    .description(
      "Keeps every installed account's OAuth tokens alive, watches its limits, alerts before they are reached.",
    )
    .version(packageJson.version)
    .option('-c, --config <file>', 'config file, also after the command; else $PLIMSOLL_CONFIG or config/plimsoll.yaml')
    .option('--color', 'colours also where no terminal is')
    .option('--no-color', 'no colours; so does the environment variable NO_COLOR')
  for (const add of await Promise.all(groups.map((load) => load()))) add(program, io)
  prepare(program, io)
  return program.hook('preAction', (_, command) => handDownConfig(program, command, io))
}

/** Before the command or after it: `--config` is one option. */
function handDownConfig(program: Command, command: Command, io: Io): void {
  const { config = io.env.PLIMSOLL_CONFIG } = program.opts<{ config?: string }>()
  if (config !== undefined && config !== '') command.setOptionValue('config', config)
}

/** Every command reports to `io` and returns instead of ending the process. */
function prepare(command: Command, io: Io): void {
  command.exitOverride().configureOutput({
    ...{ writeOut: io.out, writeErr: io.err, getOutHelpWidth: () => io.columns },
    outputError: (said, write) => write(usageLine(command, said)),
  })
  for (const child of command.commands) prepare(child, io)
}
