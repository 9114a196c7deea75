import type { Command } from 'commander'
import { operationDeps } from '../app/operation-deps.ts'
import type { Services } from '../app/services.ts'
import type { Stores } from '../app/stores.ts'
import type { Actions } from '../operations/actions.ts'
import { type Fields, fieldsOf, type Given } from '../operations/field.ts'
import type { Operation } from '../operations/operation.ts'
import { Refusal, wrongField } from '../operations/refusal.ts'
import { defined } from '../runtime/defined.ts'
import { jsonText } from '../runtime/json-text.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { confirm } from './confirm.ts'
import { CommandError, type Io } from './io.ts'
import { printShown } from './print-shown.ts'
import { showProgress } from './progress.ts'
import { whoRuns } from './who-runs.ts'
import { hubIdNamed, hubIdsNamed, showing, withParts, withStore } from './with-parts.ts'

/** Runs an operation as a command; `names`: the fields that are its arguments. */
export async function runOperation(
  io: Io,
  name: string,
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
  const call = async (stores: Stores) => {
    const given = await withHubIds(operation.takes, written, stores)
    return { given, who: whoRuns(io), now: io.clock.now(), page, isForPeople: asJson !== true }
  }
  const print = ({ value, asked }: { value: unknown; asked: Awaited<ReturnType<typeof call>> }) => {
    for (const note of operation.notes?.(value) ?? []) io.err(`plimsoll: ${note}\n`)
    if (asJson === true) io.out(`${jsonText(operation.cli.json(value))}\n`)
    else printShown(io, operation.show(value, { ...asked, isTerminal: io.isTerminal }))
  }
  const read = async (stores: Stores) => {
    const asked = await call(stores)
    return { value: await operation.reads?.(operationDeps(stores), asked), asked }
  }
  const act = async (services: Services) => {
    const asked = await call(services)
    const question = await operation.asks?.(operationDeps(services), asked.given)
    if (question !== undefined) await confirm(io, options.yes === true, question)
    const actions = await actionsOf(services, io.stop)
    const busy = operation.busy?.(asked.given)
    const progress = busy === undefined ? undefined : showProgress(io, busy)
    const onlooker = { stop: io.stop, at: (done: number, of: number) => progress?.at(done, of) }
    const deps = { ...operationDeps(services), actions }
    const value = operation.does?.(deps, { ...asked, onlooker }).finally(() => progress?.end())
    return { value: await value, asked }
  }
  const { writesTokens, stops } = operation
  const needs = writesTokens === true ? ({ writesAs: name, stops: 'by itself' } as const) : defined({ stops })
  const done =
    operation.does === undefined
      ? showing(io, options, { open: withStore, read, print })
      : withParts(io, { ...options, ...needs }, act).then((done) => {
          print(done)
          const why = operation.fails?.(done.value)
          if (why !== undefined) throw new CommandError(why)
        })
  await done.catch((error: unknown) => {
    throw error instanceof Refusal ? refused(error, operation.takes, names, command) : error
  })
}

/** Loaded for operations that change something, and for no others. */
async function actionsOf(services: Services, stop: AbortSignal): Promise<Actions> {
  const [{ accountJobsUntil }, { operationActions }] = await Promise.all([
    import('../app/account-jobs.ts'),
    import('../app/operation-actions.ts'),
  ])
  return operationActions(accountJobsUntil(services, stop), services)
}

/** A wrong field is wrong usage. */
function refused(
  { message, wayOut, field }: Refusal,
  takes: Fields,
  names: readonly string[],
  command: Command,
): CommandError {
  const text = wayOut === undefined ? message : `${message}: ${wayOut}`
  if (field === undefined) return new CommandError(text)
  const called = takes[field]?.option ?? field
  return command.error(`error: ${names.includes(called) ? called : `--${called}`} ${text}`)
}

/** The written values, with hub ids in place of domains. */
async function withHubIds(takes: Fields, written: Record<string, unknown>, stores: Stores): Promise<Given<Fields>> {
  const entries = fieldsOf(takes, 'command').map(async ([name, { kind, most = Number.POSITIVE_INFINITY }, called]) => {
    const value = kind === 'flag' ? written[called] === true : written[called]
    if (typeof value === 'string' && value.trim().length > most)
      throw wrongField(name, `is longer than ${most} characters`)
    if (kind !== 'account' || value === undefined) return [name, value] as const
    return [
      name,
      Array.isArray(value) ? await hubIdsNamed(stores, value) : await hubIdNamed(stores, value as AccountArgument),
    ] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}
