import { accessSync, constants, createReadStream, readFileSync, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { Readable } from 'node:stream'
import type { Command } from 'commander'
import type { CommandField, RemoteCommand, RequestPlace } from '../operations/describe-commands.ts'
import { jsonText } from '../runtime/json-text.ts'
import type { Shown } from '../text/shown.ts'
import type { TableAnswer } from '../text/table-answer.ts'
import { type Api, ApiProblem, type ApiRequest, ask, download, NoDaemon, overHttp, type Watcher } from './client.ts'
import { findDaemon } from './daemon-address.ts'
import { CommandError, ExitCode, type Io, unreadable } from './io.ts'
import { printShown } from './print-shown.ts'
import { showProgress } from './progress.ts'

interface RemoteOptions extends Record<string, unknown> {
  config: string
  url?: string
  token?: string
  json?: boolean
  watch?: boolean
  max?: number
  yes?: boolean
  exitCode?: boolean
  force?: boolean
}

/** Every few seconds. */
const WATCH_MS = 3_000
/** The cursor to the top, the screen and its scrolled-out lines empty. */
const CLEAR = '\x1b[H\x1b[2J\x1b[3J'
/** Items of a page of a list. */
const A_PAGE = 500

/** Sends a command to the API and prints what comes back. */
export async function runRemote(
  io: Io,
  remote: RemoteCommand,
  given: readonly unknown[],
  options: RemoteOptions,
  command: Command,
): Promise<void> {
  const values = { ...options, ...Object.fromEntries(remote.args.map(({ called }, n) => [called, given[n]])) }
  try {
    await confirmIt(io, remote, values, options)
    await withApi(io, remote, options, (api) => carryOut(io, api, remote, values, options))
  } catch (error) {
    throw asCommandError(io, error, remote, { asJson: options.json, command })
  }
}

const NOT_TAKEN =
  'the daemon does not take this token: give another one with --token or PLIMSOLL_TOKEN; plimsoll admin-tokens add makes one'

/** Wrong usage where a field is at fault. */
function asCommandError(
  io: Io,
  error: unknown,
  { args, options }: RemoteCommand,
  { asJson, command }: { asJson: boolean | undefined; command: Command },
): unknown {
  if (!(error instanceof ApiProblem)) return error
  if (error.status === 401) return new CommandError(NOT_TAKEN)
  const [fault] = error.faults
  const field = [...args, ...options].find(({ name }) => name === fault?.parameter.split('.')[0])
  if (fault !== undefined && field !== undefined)
    return command.error(`error: ${args.includes(field) ? field.called : `--${field.called}`} ${fault.detail}`)
  if (asJson === true && error.faults.length > 0) io.out(`${jsonText(error.problem)}\n`)
  else for (const { detail } of error.faults) io.out(`${detail}\n`)
  return new CommandError(error.hint === undefined ? error.message : `${error.message}: ${error.hint}`)
}

async function confirmIt(io: Io, remote: RemoteCommand, values: Values, { yes }: RemoteOptions): Promise<void> {
  if (remote.confirm === undefined) return
  const fill = (text: string) =>
    text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const field = [...remote.args, ...remote.options].find((one) => one.name === name)
      return String(values[field?.called ?? name])
    })
  const { confirm } = await import('./confirm.ts')
  await confirm(io, yes, { question: fill(remote.confirm.question), answer: fill(remote.confirm.answer) })
}

type Values = Readonly<Record<string, unknown>>

/** The daemon, or where none runs the API in this process, on the data that the config leads to. */
async function withApi(
  io: Io,
  remote: RemoteCommand,
  options: RemoteOptions,
  work: (api: Api) => Promise<void>,
): Promise<void> {
  const daemon = await findDaemon(io, options)
  if (daemon !== undefined) {
    try {
      return await work(overHttp(io, daemon))
    } catch (error) {
      if (!(error instanceof NoDaemon)) throw error
    }
  }
  const { withLocalApi } = await import('./local-api.ts')
  await withLocalApi(io, options.config, remote, work)
}

async function carryOut(
  io: Io,
  api: Api,
  remote: RemoteCommand,
  values: Values,
  options: RemoteOptions,
): Promise<void> {
  const chosen = chosenPlace(remote, values)
  const request = {
    ...requestOf(io, remote, chosen, values),
    wants: options.json === true ? 'value' : 'table',
  } as const
  if (remote.saves === true) {
    const { saveFile } = await import('./save-file.ts')
    return saveFile(io, api, request, values, options)
  }
  const isAsked = options.json === true || (values.format ?? 'json') !== 'json'
  if (remote.isStreamed && isAsked) return print(io, await download(api, request, 'application/json, */*'))
  const show = async () => {
    const progress = remote.busy === undefined ? undefined : showProgress(quietUnlessShown(io, remote), remote.busy)
    const watcher = watcherOf(io, progress)
    const answered = await readAll(api, remote, request, options, watcher).finally(() => progress?.end())
    for (const note of answered.notes) io.err(`plimsoll: ${note}\n`)
    if (options.json === true) io.out(`${jsonText(answered.json)}\n`)
    else printShown(io, answered.shown)
    return answered
  }
  if (options.watch !== true) return end(remote, options, await show())
  for (let isFirst = true; !io.stop.aborted; isFirst = false) {
    if (options.json !== true && io.isTerminal) io.out(CLEAR)
    else if (options.json !== true && !isFirst) io.out('\n')
    await show()
    await io.drained()
    await io.clock.wait(WATCH_MS, io.stop)
  }
}

/** Cron mails all output: the progress of a check is for a person at a terminal. */
function quietUnlessShown(io: Io, { name }: RemoteCommand): Io {
  return name !== 'check' || io.errIsTerminal ? io : { ...io, err: () => {} }
}

function end({ exitCodeOption }: RemoteCommand, options: RemoteOptions, { fails, exitCode = 0 }: TableAnswer): void {
  if (fails !== undefined) throw new CommandError(fails)
  const counts = exitCodeOption === undefined || options.exitCode === true
  if (counts && exitCode !== 0) throw new ExitCode(exitCode)
}

async function print(io: Io, text: AsyncIterable<Buffer>): Promise<void> {
  const decoder = new TextDecoder()
  for await (const chunk of text) {
    io.out(decoder.decode(chunk, { stream: true }))
    await io.drained()
  }
}

function watcherOf(io: Io, progress: ReturnType<typeof showProgress> | undefined): Watcher {
  return {
    progress: (done, total) => progress?.at(done, total),
    note: (text) => io.err(`${text}\n`),
    shown: async (parts) => {
      printShown(io, parts)
      await io.drained()
    },
  }
}

/** The place of a request: a flag, or a field that is given, may lead to another operation than the command's own. */
function chosenPlace({ flags, given, request, args, options }: RemoteCommand, values: Values): RequestPlace {
  const flag = Object.entries(flags).find(([name]) => values[camel(name)] === true)
  if (flag !== undefined) return flag[1].request
  const field = [...args, ...options].find(
    ({ name, called }) => given[name] !== undefined && values[camel(called)] !== undefined,
  )
  return field === undefined ? request : (given[field.name] ?? request)
}

/** Commander's name for the value of an option. */
function camel(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function requestOf(io: Io, remote: RemoteCommand, place: RequestPlace, values: Values): Omit<ApiRequest, 'wants'> {
  const fields = [...remote.args, ...remote.options].filter(({ name }) => place.fields.includes(name))
  const written = fields.flatMap((field): [string, unknown][] => {
    const value = writtenValue(io, field, fields, values)
    return value === undefined || (field.isMany && (value as unknown[]).length === 0) ? [] : [[field.name, value]]
  })
  const path = place.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(written.find(([field]) => field === name)?.[1])
    // Without it the address would be another operation's.
    if (value === '') throw new ApiProblem({ errors: [{ parameter: name, detail: 'must not be empty' }] })
    return encodeURIComponent(value)
  })
  const beside = written.filter(([name]) => !place.path.includes(`{${name}}`))
  const { method, takesFile } = place
  if (method !== 'GET' && !takesFile)
    return { method, path, query: new URLSearchParams(), body: Object.fromEntries(beside) }
  const query = new URLSearchParams(Object.fromEntries(beside.map(([name, value]) => [name, String(value)])))
  if (!takesFile) return { method, path, query }
  const file = String(values.file)
  query.set('name', file === '-' ? 'standard input' : basename(file))
  return { method, path, query, body: openFile(io, file) }
}

function writtenValue(io: Io, field: CommandField, fields: readonly CommandField[], values: Values): unknown {
  const { called, isFile, nameOf } = field
  if (nameOf !== undefined) {
    const file = fields.find(({ name }) => name === nameOf)
    return file === undefined ? undefined : values[camel(file.called)]
  }
  const value = values[camel(called)]
  return isFile && typeof value === 'string' ? readText(io, value) : value
}

function readText(io: Io, name: string): string {
  try {
    return readFileSync(resolve(io.cwd, name), 'utf8')
  } catch (error) {
    throw unreadable(name, error)
  }
}

/** Read as fast as the API takes it. */
function openFile(io: Io, name: string): Readable {
  if (name === '-') return Readable.from(io.stdin())
  const file = resolve(io.cwd, name)
  try {
    if (statSync(file).isDirectory()) throw new CommandError(`${name} is a folder, not a file`)
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw error instanceof CommandError ? error : unreadable(name, error)
  }
  return createReadStream(file)
}

/** All of a list, page by page; of one that is long for people so many rows. */
async function readAll(
  api: Api,
  { isList, maxRows, request: { fields } }: RemoteCommand,
  request: ApiRequest,
  { json, max }: RemoteOptions,
  watcher: Watcher,
): Promise<TableAnswer> {
  if (!fields.includes('limit')) {
    const answer = await ask(api, request, watcher)
    return isList && json === true ? { ...answer, json: itemsOf(answer) } : answer
  }
  const isWhole = maxRows === undefined || (json === true && isList)
  let rest = isWhole ? Number.POSITIVE_INFINITY : (max ?? A_PAGE)
  let all: TableAnswer | undefined
  for (let after: string | undefined; ; ) {
    const query = new URLSearchParams(request.query)
    query.set('limit', String(Math.min(rest, A_PAGE)))
    if (after !== undefined) query.set('after', after)
    const page = await ask(api, { ...request, query }, watcher)
    all = all === undefined ? page : joined(all, page)
    after = page.next
    rest -= A_PAGE
    if (after === undefined || rest <= 0) break
  }
  if (json === true) return isList ? { ...all, json: itemsOf(all) } : all
  return all.next === undefined ? all : { ...all, shown: [...all.shown, 'There is more: --max shows more'] }
}

function itemsOf({ json }: TableAnswer): readonly unknown[] {
  return (json as { items?: unknown[] } | undefined)?.items ?? []
}

function joined(all: TableAnswer, page: TableAnswer): TableAnswer {
  const items = [all, page].flatMap(itemsOf)
  const rows = page.shown.findLast(isTable)?.rows ?? []
  const last = all.shown.findLastIndex(isTable)
  // A page may have nothing that the search wants.
  const shown =
    last === -1
      ? page.shown
      : all.shown.map((part, n) => (n === last && isTable(part) ? { ...part, rows: [...part.rows, ...rows] } : part))
  return { ...page, shown, ...(page.json === undefined ? {} : { json: { ...(page.json as object), items } }) }
}

function isTable(part: Shown): part is Extract<Shown, { rows: unknown }> {
  return typeof part === 'object' && 'rows' in part
}
