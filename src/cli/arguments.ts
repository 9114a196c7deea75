import { Argument, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../../config/schema/duration.ts'
import { isRole, ROLES, type Role } from '../heartbeat/daemons.ts'
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
type Run = (io: Io, ...given: never[]) => Promise<void> | void

export const option = (flags: string, is: string) => new Option(flags, is)
export const argument = (name: string, is: string) => new Argument(name, is)

export function parseCount(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('A whole number, such as 50.')
  return Number(text)
}

export function parseRows(text: string): number {
  const rows = parseCount(text)
  if (rows === 0) throw new InvalidArgumentError('A whole number from 1 on, such as 50.')
  return rows
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
