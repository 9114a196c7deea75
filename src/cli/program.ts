import { Command, CommanderError } from 'commander'
import packageJson from '../../package.json' with { type: 'json' }
import { addAccounts } from './accounts.ts'
import { addAdminTokens } from './admin-tokens.ts'
import { addAlerts } from './alerts.ts'
import { addCheck, checkUsage } from './check.ts'
import { addCompletion } from './completion.ts'
import { addConfig } from './config.ts'
import { addDemo } from './demo.ts'
import { addDoctor } from './doctor.ts'
import { describeError, ExitCode, type Io } from './io.ts'
import { addKeys } from './keys.ts'
import { addOutbox } from './outbox.ts'
import { addSandbox } from './sandbox.ts'
import { addSchema } from './schema.ts'
import { addStart } from './start.ts'
import { addStatus } from './status.ts'
import { addThresholds } from './thresholds.ts'
import { usageLine, usageProblem } from './usage.ts'

/** Exit codes: 0 done; 1 failed, with one line why; 2 wrong usage. `check` has those of monitoring systems instead. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<number> {
  const program = buildProgram(io)
  try {
    await program.parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof ExitCode) return error.code
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0
      return args[0] === 'check' ? checkUsage(io, usageProblem(error.message)) : 2
    }
    io.err(`plimsoll: ${describeError(error)}\n`)
    return 1
  }
}

function buildProgram(io: Io): Command {
  const program = new Command('plimsoll')
    .description(
      "Keeps every installed account's OAuth tokens alive, watches its limits, alerts before they are reached.",
    )
    .version(packageJson.version)
    .option('-c, --config <file>', 'config file, also after the command; else $PLIMSOLL_CONFIG or config/plimsoll.yaml')
    .option('--color', 'colours also where no terminal is')
    .option('--no-color', 'no colours; so does the environment variable NO_COLOR')
  const groups = [
    addStart,
    addDemo,
    addSandbox,
    addStatus,
    addCheck,
    addDoctor,
    addConfig,
    addAccounts,
    addAlerts,
    addThresholds,
    addOutbox,
    addAdminTokens,
    addKeys,
    addSchema,
    addCompletion,
  ]
  for (const add of groups) add(program, io)
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
