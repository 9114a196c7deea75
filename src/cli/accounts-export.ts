import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type ExportedAccount, exportAccounts, LIVE_STATES } from '../accounts/export-accounts.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { CommandError, type Io, printJson } from './io.ts'
import type { CommonOptions } from './options.ts'
import { showProgress } from './progress.ts'
import { say } from './say.ts'
import { withParts } from './with-parts.ts'

const COLUMNS = ['hubId', 'hubDomain', 'state', 'user', 'connectedAt', 'sealedRefreshToken'] as const

/** `plimsoll accounts export FILE`: the live accounts, their refresh tokens sealed as they are stored. */
export async function exportFile(io: Io, name: string, options: CommonOptions): Promise<void> {
  const file = resolve(io.cwd, name)
  const isJson = /\.(jsonl|ndjson|json)$/i.test(name)
  if (!isJson && !/\.csv$/i.test(name)) throw new CommandError(`${name} must end in .csv or .jsonl`)
  const exported = await withParts(io, options.config, async ({ store, keys, registry }) => {
    const counts = await registry.countByState()
    const total = LIVE_STATES.reduce((sum, state) => sum + counts[state], 0)
    const progress = showProgress(io, 'accounts exported', total)
    return replaceFile(file, name, async (handle) => {
      let count = 0
      if (!isJson) await handle.appendFile(`${COLUMNS.join(',')}\n`)
      for await (const accounts of exportAccounts(store, keys)) {
        if (io.stop.aborted) throw new CommandError(`stopped: ${name} is as it was`)
        await handle.appendFile(accounts.map(isJson ? jsonLine : csvLine).join(''))
        count += accounts.length
        progress.at(count, total)
      }
      return count
    }).finally(progress.end)
  })
  if (options.json === true) return printJson(io, { exported, file })
  say(
    io,
    `exported ${countOf(exported, 'live account')} to ${name}, uninstalled ones left out; ` +
      'the refresh tokens in it open only with the key of this installation',
  )
}

/** Written beside the file under another name and renamed: whoever reads it has all of it or what was there before. */
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
  return `${JSON.stringify(clean(account))}\n`
}

function csvLine(account: ExportedAccount): string {
  const cleaned = clean(account)
  return `${COLUMNS.map((column) => quoted(String(cleaned[column]))).join(',')}\n`
}

/** Domain and user are strangers' texts: each stays one line, as `import` wants it. */
function clean(account: ExportedAccount): ExportedAccount {
  const hubDomain = cleanText(account.hubDomain, 255).replaceAll(' ', '')
  return { ...account, hubDomain, user: cleanText(account.user, 250) }
}

function quoted(value: string): string {
  return /[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}
