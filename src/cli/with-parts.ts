import { hostname } from 'node:os'
import { Directory, findAccount } from '../accounts/search/directory.ts'
import type { Services } from '../app/services.ts'
import { openStores, type Stores } from '../app/stores.ts'
import { isRedisAway, refusesWrites } from '../redis/away.ts'
import { checkFormat, type FormatReader } from '../redis/format.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger, type Logger } from '../runtime/logger.ts'
import { cleanText } from '../text/clean-text.ts'
import { VaultError } from '../tokens/vault.ts'
import { checkKeys, startWriterReports } from '../tokens/vault-keys.ts'
import type { AccountArgument, CommonOptions } from './arguments.ts'
import { checkInstalled, readConfig, type WithoutData } from './installation.ts'
import { CommandError, type Io, proxiesOf, waitOf } from './io.ts'

interface PartsOptions {
  config: string
  withoutData?: WithoutData
  missingKeys?: 'refused' | 'allowed'
  reader?: FormatReader
  /** The name of a command that encrypts tokens: a rekey waits for its end. */
  writesAs?: string
  /**
   * End of the work after a signal to stop: `by itself` soon; `at once` it is left where it is, since it is one step or only
   * reads.
   */
  stops?: 'at once' | 'by itself'
}

/** Runs a command on the same store as the daemon, whether that is running or not. */
export type Open<P> = <T>(io: Io, options: PartsOptions, work: (parts: P) => Promise<T>) => Promise<T>

/** For commands that only read, or change nothing but stored values. */
export const withStore: Open<Stores> = (io, options, work) => run(io, options, openStores, work)

/** For commands that also call the provider, or give work to daemons. Loaded here: it is half of all that is loaded. */
export const withParts: Open<Services> = (io, options, work) =>
  run(io, options, async (...given) => (await import('../app/services.ts')).openServices(...given), work)

async function run<P extends Stores, T>(
  io: Io,
  options: PartsOptions,
  open: (...given: Parameters<typeof openStores>) => Promise<P>,
  work: (parts: P) => Promise<T>,
): Promise<T> {
  const { config: file, withoutData = 'refuses', missingKeys = 'refused', reader = 'command' } = options
  const { writesAs, stops = 'at once' } = options
  const { config } = readConfig(io, file)
  checkInstalled(config, withoutData)
  const lifecycle = new Lifecycle()
  const log = commandLog(io)
  const opened = async () => {
    const parts = await open(
      { config, clock: io.clock, random: io.random, log, waitMs: waitOf(io), proxyFor: proxiesOf(io) },
      lifecycle,
      'pages',
    )
    await checkFormat(parts.store, parts.keys, reader)
    await checkKeys(parts.store, parts.keys, parts.vault, missingKeys)
    if (writesAs !== undefined) {
      const reports = await startWriterReports(parts, `${hostname()} pid ${process.pid} (${writesAs})`)
      lifecycle.onClose('the reports of its key', () => reports.stop())
    }
    return work(parts)
  }
  try {
    return await untilStopped(io, opened(), stops)
  } catch (error) {
    throw explainStoreError(error)
  } finally {
    await lifecycle.close()
  }
}

/** Every few seconds. */
const WATCH_MS = 3_000

/** Reads and prints once; with --watch again and again, on a terminal in place of the output before. */
export async function showing<P, T>(
  io: Io,
  { config, json, watch }: CommonOptions & { watch?: boolean },
  { open, read, print }: { open: Open<P>; read: (parts: P) => Promise<T>; print: (value: T) => void },
): Promise<void> {
  if (watch !== true) return print(await open(io, { config }, read))
  const repeat = async (parts: P) => {
    for (let isFirst = true; !io.stop.aborted; isFirst = false) {
      const value = await read(parts)
      if (json !== true && io.isTerminal) io.out(CLEAR)
      else if (json !== true && !isFirst) io.out('\n')
      print(value)
      await io.drained()
      await io.clock.wait(WATCH_MS, io.stop)
    }
  }
  await open(io, { config, stops: 'by itself' }, repeat)
}

/** The cursor to the top, the screen and its scrolled-out lines empty. */
const CLEAR = '\x1b[H\x1b[2J\x1b[3J'

/** Only messages that need action; that Redis is away is reported once, as the command's own error. */
export function commandLog(io: Io): Logger {
  return createLogger({ level: 'warn', pretty: true }, { write: (line) => sayIfNeeded(io, line) })
}

/** Codes of log lines that the user of a command must see, who sees no log. */
const SAID = [
  'audit.not-written',
  'redis.unwell',
  'vault.key-made',
  'token.not-stored',
  'token.sealed',
  'token.not-sealed',
]

function sayIfNeeded(io: Io, line: string): void {
  const { code, msg } = JSON.parse(line) as { code?: string; msg: string }
  if (SAID.includes(code ?? '')) io.err(`plimsoll: ${msg}\n`)
}

const TIMED_OUT = 'Command timed out: '

/** An error of the store, with the way out. */
export function explainStoreError(error: unknown): unknown {
  if (error instanceof VaultError) return new CommandError(error.message)
  if (error instanceof Error && error.message.startsWith(TIMED_OUT)) {
    return new CommandError(`${error.message.slice(TIMED_OUT.length)}: it is busy, or hangs. --timeout 1m waits longer`)
  }
  if (refusesWrites(error)) {
    return new CommandError(
      `Redis takes no writes (${error.message}): plimsoll doctor shows what to do; then run this again, it goes on where it was`,
    )
  }
  if (isRedisAway(error))
    return new CommandError('Redis does not answer: check redis.url in the config, and that the server runs')
  return error
}

/** After a signal to stop, work in progress has so long: a little later the process ends, with a code that means otherwise. */
const PATIENCE_MS = { 'by itself': 8_000, 'at once': 100 } as const

/** The result of `work`; it checks the signal itself, and is left behind if it does not end soon after it. */
async function untilStopped<T>(
  io: Pick<Io, 'stop' | 'clock'>,
  work: Promise<T>,
  stops: keyof typeof PATIENCE_MS = 'by itself',
): Promise<T> {
  const done = new AbortController()
  try {
    return await Promise.race([work, patience(io, PATIENCE_MS[stops], done.signal)])
  } finally {
    done.abort()
  }
}

async function patience({ stop, clock }: Pick<Io, 'stop' | 'clock'>, ms: number, done: AbortSignal): Promise<never> {
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve()
    stop.addEventListener('abort', () => resolve(), { once: true, signal: done })
  })
  await clock.wait(ms, done)
  throw new CommandError(ms === PATIENCE_MS['at once'] ? 'stopped' : 'stopped, with work left behind')
}

/** Throws CommandError for a domain that no account has, or several have; whether a hub id is known, its command finds out. */
export async function hubIdNamed(
  { store, keys }: Pick<Services, 'store' | 'keys'>,
  name: AccountArgument,
): Promise<number> {
  if (typeof name === 'number') return name
  const found = await findAccount(new Directory(store, keys), name)
  if (found.is === 'found') return found.hubId
  if (found.is === 'several') {
    throw new CommandError(`accounts ${found.hubIds.join(', ')} have the domain ${cleanText(name)}: give a hub id`)
  }
  const { near } = found
  const hint =
    near.length === 0
      ? 'plimsoll accounts list shows all'
      : `did you mean ${near.map((one) => cleanText(one)).join(' or ')}?`
  throw new CommandError(`no account has the domain ${cleanText(name)}: ${hint}`)
}

/** Each account once, in the order given. */
export async function hubIdsNamed(
  parts: Pick<Services, 'store' | 'keys'>,
  names: readonly AccountArgument[],
): Promise<number[]> {
  return [...new Set(await Promise.all(names.map((name) => hubIdNamed(parts, name))))]
}

export function noSuchAccount(hubId: number): CommandError {
  return new CommandError(`there is no account ${hubId}: plimsoll accounts list shows all`)
}
