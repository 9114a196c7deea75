import { Argument, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../../config/schema/duration.ts'
import { isRole, ROLES, type Role } from '../heartbeat/daemons.ts'
import { faultOfName } from '../http/access/admin-tokens.ts'
import { SCOPES, type Scope } from '../http/access/scopes.ts'
import type { Moment } from '../operations/field.ts'
import { parseLocalTime, parseMoment } from '../text/format-time.ts'
import type { Io } from './io.ts'

/** Parsers of arguments and options: each throws InvalidArgumentError, which is wrong usage. */

/** Options of most commands. */
export interface CommonOptions {
  config: string
  json?: boolean
}

/** One command: its words, its help, and its function. */
export interface CommandSpec {
  is: string
  args?: readonly Argument[]
  options?: readonly Option[]
  /** False: the command has no `--config`, or no `--json`. */
  config?: false
  json?: false
  /** Examples: the text behind the command's name; default: nothing. */
  examples?: readonly string[]
  notes?: string
  /** Loaded only when it runs: all of them together take a second of CPU to load. */
  run: () => Promise<Run>
}

/** Runs a command with its arguments, its options and commander's command, in the order of their declaration. */
export type Run = (io: Io, ...given: never[]) => Promise<void> | void

export const option = (flags: string, is: string) => new Option(flags, is)
export const argument = (name: string, is: string) => new Argument(name, is)
export const accountArgument = () => argument('<account>', 'its hub id or its domain').argParser(parseAccount)
export const yesOption = () => option('--yes', 'go on without a question')
export const watchOption = () => option('--watch', 'show it again every few seconds, until Ctrl-C')
export const mostRows = (rows: string) => option('--max <rows>', rows).argParser(parseCount).default(50)

/** An account as people name it: its hub id, or its domain in lower case. */
export type AccountArgument = number | string

export function parseAccount(text: string): AccountArgument {
  const name = text.trim().toLowerCase()
  if (name !== '' && !/^\d+$/.test(name)) return name
  const hubId = Number(name)
  if (Number.isSafeInteger(hubId) && hubId > 0) return hubId
  throw new InvalidArgumentError('An account is its hub id, such as 1234567, or its domain.')
}

export function refuse(why: string): never {
  throw new InvalidArgumentError(why)
}

export function parseAccounts(text: string, before: readonly AccountArgument[] | undefined): AccountArgument[] {
  return [...(before ?? []), parseAccount(text)]
}

export function parseCount(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('A whole number, such as 50.')
  return Number(text)
}

/** A moment, or how long ago one was. */
export function parseTime(text: string): Moment {
  const ago = parseDuration(text)
  if (ago !== undefined) return (now) => now - ago
  return momentOf(text, `${A_TIME}, or how long ago: 7d.`)
}

export function parseEnd(text: string): Moment {
  return momentOf(text, `${A_TIME}.`)
}

const A_TIME = 'A time is like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z'

function momentOf(text: string, otherwise: string): Moment {
  const at = parseMoment(text)
  const local = text.includes('T') ? text : `${text}T00:00`
  const isLocal = text.includes('-') && !/(Z|[+-]\d\d:\d\d)$/.test(text)
  if (at === undefined || (isLocal && parseLocalTime(local) === undefined)) return refuse(otherwise)
  return () => (isLocal ? (parseLocalTime(local) ?? at) : at)
}

export function parseLength(text: string): number {
  const length = parseDuration(text)
  if (length === undefined || length <= 0) throw new InvalidArgumentError('A duration is like 20s, 30m, 2h or 1d.')
  return length
}

export function parseRoles(text: string): ReadonlySet<Role> {
  const roles = text.split(',').map((role) => role.trim())
  if (!roles.every(isRole)) throw new InvalidArgumentError(`Roles are ${ROLES.join(', ')}, with commas between them.`)
  return new Set(roles)
}

export function parseTokenName(text: string): string {
  const fault = faultOfName(text)
  if (fault !== undefined) throw new InvalidArgumentError(`${fault[0]?.toUpperCase()}${fault.slice(1)}.`)
  return text
}

export function parseScopes(text: string): Scope[] {
  const given = text.split(',').map((scope) => scope.trim())
  const unknown = given.find((scope) => !SCOPES.some((known) => known === scope))
  if (unknown !== undefined) throw new InvalidArgumentError(`Scopes are ${SCOPES.join(', ')}; several with commas.`)
  return SCOPES.filter((scope) => given.includes(scope))
}
