import { isThisMachine } from '../../config/schema/addresses.ts'
import type { Clock } from '../runtime/clock.ts'
import { jsonText } from '../runtime/json-text.ts'
import { type ProxyFor, proxyIn } from '../runtime/outgoing-proxy.ts'
import { redactUrls } from '../runtime/url-credentials.ts'

/** The environment of a command. */
export interface Io {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  out(text: string): void
  err(text: string): void
  /** Resolves once there is room for more: a command that writes while it reads waits for the reader of its output. */
  drained(): Promise<void>
  isTerminal: boolean
  /** Standard input is one: a person can answer a question. */
  inIsTerminal: boolean
  /** Standard error is one: where progress is shown. */
  errIsTerminal: boolean
  columns: number
  /** How wide the terminal is where progress is shown. */
  errColumns: number
  /** True where levels and states have colors. */
  hasColours: boolean
  /** The piped input, for `-` in place of a file. */
  stdin(): AsyncIterable<Buffer>
  /** While a person types a secret. */
  hideTyping(isHidden: boolean): void
  /** Aborts when the process gets a signal to stop. */
  stop: AbortSignal
  /** From now on SIGHUP does this instead of ending the process. */
  onHangUp(listener: () => void): void
  clock: Clock
  /** How long Redis is waited for; absent: the default of `--timeout`. */
  waitMs?: number
  random: () => number
}

/** A busy Redis gets so long. */
const WAIT_MS = 10_000

export function waitOf({ waitMs }: Pick<Io, 'waitMs'>): number {
  return waitMs ?? WAIT_MS
}

/** The proxies that the environment names. */
export function proxiesOf({ env }: Pick<Io, 'env'>): ProxyFor {
  // Plain http is fine within this machine, and its services know no proxy.
  return (address) => (isThisMachine(address.hostname) ? undefined : proxyIn(env, address))
}

/** A command that failed: one line why, with what to do. Exit code 1. */
export class CommandError extends Error {}

/** A command that has written all its output, and ends with another exit code than 0. */
export class ExitCode extends Error {
  readonly code: number

  constructor(code: number) {
    super(`exit code ${code}`)
    this.code = code
  }
}

/** An error in words for people, without secrets. */
export function describeError(error: unknown): string {
  if (error instanceof CommandError) return error.message
  if (!(error instanceof Error)) return String(error)
  return describeSystem(error) ?? describeSystem(error.cause) ?? redactUrls(error.message)
}

function describeSystem(error: unknown): string | undefined {
  return describeTaken(error) ?? describeDisk(error)
}

const inTheWay = (path: string) => `${path} can't be made: a file has the name of a folder. Name another place`

const DISK: Readonly<Record<string, (path: string) => string>> = {
  EROFS: (path) => `${path} can't be written: its file system is read-only. Mount it writable, or name another place`,
  EACCES: (path) =>
    `this user may not use ${path}: change its owner or mode, run as the user it belongs to, or name another place`,
  EPERM: (path) =>
    `this user may not change ${path}: change its owner, run as the user it belongs to, or name another place`,
  ENOSPC: (path) => `${path} can't be written: its disk is full. Make room, then try again`,
  EEXIST: inTheWay,
  ENOTDIR: inTheWay,
  EDQUOT: (path) => `${path} can't be written: this user's quota is used up. Make room, then try again`,
}

/** A file that can't be made or written, mostly of the data folder or the log. */
function describeDisk(error: unknown): string | undefined {
  const { code, path, port } = (error ?? {}) as { code?: unknown; path?: unknown; port?: unknown }
  // A port that only root may take is no file.
  if (typeof code !== 'string' || !Object.hasOwn(DISK, code) || port !== undefined) return undefined
  // A write to a file that is open names none.
  return DISK[code]?.(typeof path === 'string' ? path : 'a file')
}

/** A port that another process has: the first thing that goes wrong where a demo or a daemon still runs. */
function describeTaken(error: unknown): string | undefined {
  const { code, address, port } = (error ?? {}) as { code?: unknown; address?: unknown; port?: unknown }
  if (code !== 'EADDRINUSE') return undefined
  return (
    `${address}:${port} is in use, perhaps by another daemon, demo or sandbox: stop that, or choose another ` +
    'port (http.listen in the config; --port and --smtp-port of the sandbox)'
  )
}

const WHY: Readonly<Record<string, (name: string) => string>> = {
  ENOENT: (name) => `there is no file ${name}`,
  EACCES: (name) => `this user may not read ${name}`,
  EISDIR: (name) => `${name} is a folder, not a file`,
}

/** Why a file that was named on the command line can't be read. */
export function unreadable(name: string, error: unknown): CommandError {
  const { code = '' } = error as NodeJS.ErrnoException
  return new CommandError(WHY[code]?.(name) ?? `${name} can't be read (${code})`)
}

/** Lists and objects for programs: one line of JSON. */
export function printJson(io: Io, value: unknown): void {
  io.out(`${jsonText(value)}\n`)
}
