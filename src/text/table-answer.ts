import type { Shown } from './shown.ts'

/** The answer of an operation for the command line: laid out already, but for the width of the terminal. */
export const TABLE_TYPE = 'application/vnd.plimsoll.table+json'
/** The answer of a slow operation instead: an event on each line, the value on the last one. */
export const EVENTS_TYPE = 'application/vnd.plimsoll.events+ndjson'
/** Changes where an older command line would misread the answer. */
export const TABLE_VERSION = 1

export interface TableAnswer {
  version: number
  /** For people; empty where a program reads the value. */
  shown: readonly Shown[]
  /** Remarks for people, in either case. */
  notes: readonly string[]
  /** The value, where a program reads it. */
  json?: unknown
  /** The place in a list where it goes on. */
  next?: string
  /** Why the command ends with 1. */
  fails?: string
  exitCode?: number
}

/** A line of the answer of a slow operation. */
export type TableEvent =
  | { progress: { done: number; total: number | null } }
  | { shown: readonly Shown[] }
  | { note: string }
  /** RFC 9457, as it would have been answered. */
  | { problem: object }
  | { answer: TableAnswer }
