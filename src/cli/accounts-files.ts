import { randomBytes } from 'node:crypto'
import { createReadStream, existsSync, statSync } from 'node:fs'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { readRows, UnreadableFileError } from '../accounts/account-rows.ts'
import type { BadLine, ImportSummary } from '../accounts/import-accounts.ts'
import type { ExportedAccount } from '../accounts/registry.ts'
import { exportFleet, importFleet } from '../app/account-actions.ts'
import type { Stores } from '../app/stores.ts'
import { jsonText } from '../runtime/json-text.ts'
import { cleanText } from '../text/clean-text.ts'
import { csvLine } from '../text/csv.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { countLive } from '../views/check-fleet.ts'
import type { CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson, unreadable } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { whoRuns } from './who-runs.ts'
import { withParts, withStore } from './with-parts.ts'

export interface ImportArguments extends CommonOptions {
  replace?: boolean
}

/** Bad lines that are named one by one: of a file of the wrong kind every line is bad. */
const MOST_NAMED = 50

/** `plimsoll accounts import FILE`: the good lines are in, the bad ones named; run again, it goes on where it ended. */
export async function importFile(io: Io, given: string, options: ImportArguments): Promise<void> {
  const file = resolve(io.cwd, given)
  const name = given === '-' ? 'standard input' : given
  const isPiped = given === '-'
  const total = isPiped ? undefined : await countLines(file, name)
  const bad: BadLine[] = []
  let done = 0
  const progress = showProgress(io, 'lines', total)
  const needs = { ...options, withoutData: 'begins', writesAs: 'accounts import', stops: 'by itself' } as const
  const summary = await withParts(io, needs, async (parts) => {
    const lines = readRows(isPiped ? io.stdin() : createReadStream(file), file)
    const how = {
      replace: options.replace === true,
      stop: io.stop,
      onBad: (line: BadLine) => {
        if (bad.length < MOST_NAMED) bad.push(line)
      },
      onProgress: (count: number) => {
        done += count
        progress.at(done, total)
      },
    }
    return importFleet(parts, lines, how, whoRuns(io)).finally(progress.end)
  }).catch((error: unknown) => {
    throw error instanceof UnreadableFileError ? new CommandError(`${name} can't be imported: ${error.message}`) : error
  })
  if (options.json === true) printJson(io, 'accounts import', { ...summary, badLines: bad })
  else print(io, summary, bad)
  if (summary.stopped) throw new CommandError(`stopped: run it again to import the rest of ${name}`)
  if (summary.bad > 0) throw new CommandError(`${name} has ${countOf(summary.bad, 'bad line')}; the others are in`)
}

function print(io: Io, summary: ImportSummary, bad: readonly BadLine[]): void {
  for (const { line, problem } of bad) say(io, `line ${line} ${problem}`)
  if (summary.bad > bad.length) say(io, `and ${formatCount(summary.bad - bad.length)} more bad lines`)
  const { imported, kept, keptUninstalled, replaced } = summary
  const uninstalled =
    keptUninstalled === 0 ? '' : ` (${formatCount(keptUninstalled)} of them uninstalled: --replace brings them back)`
  say(
    io,
    `imported ${formatCount(imported)}, kept ${formatCount(kept)}${uninstalled}, replaced ${formatCount(replaced)}, ` +
      `bad ${formatCount(summary.bad)}`,
  )
}

/** So that the progress has an end; undefined for a pipe, which can be read only once. */
async function countLines(file: string, name: string): Promise<number | undefined> {
  try {
    const stat = statSync(file)
    if (stat.isDirectory()) throw new CommandError(`${name} is a folder: it takes a file`)
    if (!stat.isFile()) return undefined
    let [feeds, returns] = [0, 0]
    for await (const chunk of createReadStream(file)) {
      for (const byte of chunk as Buffer) {
        if (byte === 10) feeds++
        else if (byte === 13) returns++
      }
    }
    return Math.max(feeds, returns)
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw unreadable(name, error)
  }
}

const COLUMNS = ['hubId', 'hubDomain', 'state', 'user', 'contact', 'connectedAt', 'sealedRefreshToken'] as const

export interface ExportArguments extends CommonOptions {
  format?: 'csv' | 'jsonl'
  force?: boolean
}

/** `plimsoll accounts export FILE`: the live accounts, their refresh tokens sealed as they are stored. */
export async function exportFile(io: Io, name: string, options: ExportArguments): Promise<void> {
  const isPiped = name === '-'
  const isJson = formatOf(name, options) === 'jsonl'
  const file = resolve(io.cwd, name)
  if (!isPiped && options.force !== true && existsSync(file))
    throw new CommandError(`${name} is there already: --force overwrites it`)
  const print = async (text: string) => {
    io.out(text)
    await io.drained()
  }
  const work = (parts: Stores) =>
    isPiped
      ? writeAll(io, parts, { isJson, left: 'it has not all of them', write: print })
      : replaceFile(file, name, (handle) =>
          writeAll(io, parts, { isJson, left: `${name} is as it was`, write: (text) => handle.appendFile(text) }),
        )
  const exported = await withStore(io, { ...options, reader: 'export', stops: 'by itself' }, work)
  if (options.json === true && !isPiped) return printJson(io, 'accounts export', { exported, file })
  say(
    isPiped ? { ...io, out: io.err, isTerminal: io.errIsTerminal, columns: io.errColumns } : io,
    `exported ${countOf(exported, 'live account')} to ${isPiped ? 'standard output' : name}, uninstalled ones left out; ` +
      'the refresh tokens in it open only with the key of this installation',
  )
}

function formatOf(name: string, { format }: ExportArguments): 'csv' | 'jsonl' {
  if (format !== undefined) return format
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return 'jsonl'
  if (name === '-' || /\.csv$/i.test(name)) return 'csv'
  throw new CommandError(`${name} must end in .csv or .jsonl, or take --format csv`)
}

async function writeAll(
  io: Io,
  stores: Stores,
  { isJson, left, write }: { isJson: boolean; left: string; write: (text: string) => Promise<void> },
): Promise<number> {
  const total = await countLive(stores)
  const progress = showProgress(io, 'accounts exported', total)
  try {
    let count = 0
    if (!isJson) await write(`${COLUMNS.join(',')}\n`)
    for await (const accounts of exportFleet(stores, whoRuns(io))) {
      if (io.stop.aborted) throw new CommandError(`stopped: ${left}`)
      await write(accounts.map(isJson ? jsonLine : csvRow).join(''))
      count += accounts.length
      progress.at(count, total)
    }
    return count
  } finally {
    progress.end()
  }
}

/** Written beside the file under another name and renamed: a reader has all of it or the file before. */
async function replaceFile<T>(file: string, name: string, write: (handle: FileHandle) => Promise<T>): Promise<T> {
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`
  let handle: FileHandle
  try {
    handle = await open(temporary, 'wx', 0o600)
  } catch (error) {
    throw new CommandError(`${name} can't be written (${(error as NodeJS.ErrnoException).code})`)
  }
  try {
    const written = await write(handle).finally(() => handle.close())
    await rename(temporary, file)
    return written
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

function jsonLine(account: ExportedAccount): string {
  return `${jsonText(clean(account))}\n`
}

/** The token is ours: base64 of any length, whose first byte makes it no formula. */
function csvRow(account: ExportedAccount): string {
  const { hubId, hubDomain, state, user, contact, connectedAt, sealedRefreshToken } = clean(account)
  return `${csvLine([hubId, hubDomain, state, user, contact, connectedAt]).trimEnd()},${sealedRefreshToken}\n`
}

/** Domain and user are strangers' texts: each stays one line, as `import` wants it. */
function clean(account: ExportedAccount): ExportedAccount {
  const hubDomain = cleanText(account.hubDomain, 255).replaceAll(' ', '')
  return { ...account, hubDomain, user: cleanText(account.user, 250) }
}
