import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { countOf } from '../text/format-number.ts'
import { type Api, type ApiRequest, download } from './client.ts'
import { CommandError, describeError, type Io } from './io.ts'
import { say } from './say.ts'

interface SaveOptions {
  json?: boolean
  force?: boolean
}

/**
 * Writes an answer to a file: beside it under another name, and renamed once it is whole, so that a reader has all of it or the
 * file before.
 */
export async function saveFile(
  io: Io,
  api: Api,
  request: ApiRequest,
  values: Readonly<Record<string, unknown>>,
  { json, force }: SaveOptions,
): Promise<void> {
  const name = String(values.file)
  const isPiped = name === '-'
  const format = formatOf(name, values.format)
  const file = resolve(io.cwd, name)
  if (!isPiped) refuseToOverwrite(io, name, force)
  request.query.set('format', format)
  const text = await download(api, request, '*/*')
  const lines = isPiped ? await print(io, text) : await replaceFile(io, { file, name }, text)
  const exported = Math.max(0, format === 'csv' ? lines - 1 : lines)
  if (json === true && !isPiped) return io.out(`${JSON.stringify({ exported, file })}\n`)
  say(
    isPiped ? { ...io, out: io.err, isTerminal: io.errIsTerminal, columns: io.errColumns } : io,
    `exported ${countOf(exported, 'live account')} to ${isPiped ? 'standard output' : name}, uninstalled ones left out; ` +
      'the refresh tokens in it open only with the key of this installation',
  )
}

export function refuseToOverwrite({ cwd }: Io, name: string, force?: boolean, otherwise = 'name another file'): void {
  const found = statSync(resolve(cwd, name), { throwIfNoEntry: false })
  if (found?.isFile() === false) throw new CommandError(`${name} is no regular file: ${otherwise}`)
  if (force === true || found === undefined) return
  throw new CommandError(`${name} exists already: overwrite it with --force, or ${otherwise}`)
}

function formatOf(name: string, format: unknown): 'csv' | 'jsonl' {
  if (format === 'csv' || format === 'jsonl') return format
  if (/\.(jsonl|ndjson|json)$/i.test(name)) return 'jsonl'
  if (name === '-' || /\.csv$/i.test(name)) return 'csv'
  throw new CommandError(`${name} must end in .csv or .jsonl, or take --format csv`)
}

async function print(io: Io, text: AsyncIterable<Buffer>): Promise<number> {
  let lines = 0
  const decoder = new TextDecoder()
  try {
    for await (const chunk of text) {
      lines += linesIn(chunk)
      io.out(decoder.decode(chunk, { stream: true }))
      await io.drained()
    }
    // A signal to stop ends the wait for the reader.
    io.stop.throwIfAborted()
  } catch (error) {
    throw new CommandError(`${whyEnded(io, error)}: it has not all of them`)
  }
  return lines
}

/** Resolves to the number of lines. */
export async function replaceFile(
  io: Io,
  { file, name }: { file: string; name: string },
  text: AsyncIterable<Buffer>,
): Promise<number> {
  const temporary = `${file}.${randomBytes(4).toString('hex')}.tmp`
  const handle = await open(temporary, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${name} can't be written (${error.code})`)
  })
  try {
    let lines = 0
    for await (const chunk of text) {
      lines += linesIn(chunk)
      await handle.appendFile(chunk)
    }
    await handle.sync()
    await handle.close()
    await rename(temporary, file)
    return lines
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(temporary, { force: true })
    throw new CommandError(`${whyEnded(io, error)}: ${name} is unchanged`)
  }
}

function whyEnded({ stop }: Io, error: unknown): string {
  return stop.aborted ? 'stopped' : describeError(error)
}

function linesIn(chunk: Buffer): number {
  return chunk.filter((byte) => byte === 10).length
}
