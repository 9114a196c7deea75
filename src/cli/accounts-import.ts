import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { readRows, UnreadableFileError } from '../accounts/account-rows.ts'
import { type BadLine, type ImportSummary, importAccounts } from '../accounts/import-accounts.ts'
import { imported } from '../app/account-actions.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import type { CommonOptions } from './arguments.ts'
import { CommandError, type Io, printJson, unreadable } from './io.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { withParts } from './with-parts.ts'

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
    const result = await importAccounts(parts, readRows(isPiped ? io.stdin() : createReadStream(file), file), {
      ...{ replace: options.replace === true, stop: io.stop },
      onBad: (line) => {
        if (bad.length < MOST_NAMED) bad.push(line)
      },
      onProgress: (count) => {
        done += count
        progress.at(done, total)
      },
    }).finally(progress.end)
    if (result.imported + result.replaced > 0) await imported(parts)
    return result
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
    let lines = 0
    for await (const chunk of createReadStream(file)) {
      for (const byte of chunk as Buffer) if (byte === 10) lines++
    }
    return lines
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw unreadable(name, error)
  }
}
