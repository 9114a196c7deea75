import type { Command } from 'commander'
import { operationDeps } from '../app/operation-deps.ts'
import type { Stores } from '../app/stores.ts'
import { type Fields, fieldsOf, type Given } from '../operations/field.ts'
import type { Operation } from '../operations/operation.ts'
import { Refusal } from '../operations/refusal.ts'
import { jsonText } from '../runtime/json-text.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { CommandError, type Io } from './io.ts'
import { printShown } from './print-shown.ts'
import { whoRuns } from './who-runs.ts'
import { hubIdNamed, showing, withStore } from './with-parts.ts'

/** Runs an operation in the process of a command; `names`: the fields that are its arguments. */
export async function runOperation(
  io: Io,
  operation: Operation,
  names: readonly string[],
  given: readonly unknown[],
): Promise<void> {
  const options = given[names.length] as CommonOptions & Record<string, unknown>
  const command = given[names.length + 1] as Command
  const { json: asJson, max } = options as { json?: boolean; max?: number }
  const written = { ...options, ...Object.fromEntries(names.map((name, n) => [name, given[n]])) }
  const isAll = max === undefined || (asJson === true && operation.isList === true)
  const page = { limit: isAll ? Number.POSITIVE_INFINITY : max }
  const read = async (stores: Stores) => {
    const given = await withHubIds(operation.takes, written, (name) => hubIdNamed(stores, name))
    const now = io.clock.now()
    const value = await operation.reads(operationDeps(stores), {
      ...{ given, who: whoRuns(io), now, page, isForPeople: asJson !== true },
    })
    return { value, reader: { given, now, isTerminal: io.isTerminal } }
  }
  const print = ({ value, reader }: Awaited<ReturnType<typeof read>>) => {
    for (const note of operation.notes?.(value) ?? []) io.err(`plimsoll: ${note}\n`)
    if (asJson === true) io.out(`${jsonText(operation.cli.json(value))}\n`)
    else printShown(io, operation.show(value, reader))
  }
  await showing(io, options, { open: withStore, read, print }).catch((error: unknown) => {
    throw error instanceof Refusal ? refused(error, command) : error
  })
}

/** What is wrong with a field is wrong usage. */
function refused({ message, wayOut, field }: Refusal, command: Command): CommandError {
  if (field !== undefined) return command.error(`error: --${field}: ${message}`)
  return new CommandError(wayOut === undefined ? message : `${message}: ${wayOut}`)
}

/** What was written, with the hub ids of accounts that are named by their domain. */
async function withHubIds(
  takes: Fields,
  written: Record<string, unknown>,
  hubIdOf: (name: AccountArgument) => Promise<number>,
): Promise<Given<Fields>> {
  const entries = fieldsOf(takes, 'command').map(async ([name, { kind }]) => {
    const value = kind === 'flag' ? written[name] === true : written[name]
    return [name, kind === 'account' && value !== undefined ? await hubIdOf(value as AccountArgument) : value] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
