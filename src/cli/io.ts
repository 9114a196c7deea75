import type { Clock } from '../runtime/clock.ts'

/** What a command sees of the world. */
export interface Io {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  out(text: string): void
  err(text: string): void
  isTerminal: boolean
  /** Standard error is one: where progress is shown. */
  errIsTerminal: boolean
  columns: number
  /** Aborts when the process is told to stop. */
  stop: AbortSignal
  /** From now on SIGHUP does this instead of ending the process. */
  onHangUp(listener: () => void): void
  clock: Clock
  random: () => number
}

/** A command that failed: one line why, with what to do. Exit code 1. */
export class CommandError extends Error {}

/** Lists and objects for programs: one line of JSON. */
export function printJson(io: Io, value: unknown): void {
  io.out(`${JSON.stringify(value)}\n`)
}
