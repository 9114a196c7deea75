import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { type ReadSince, readSince } from '../redis/read-since.ts'
import type { Alert } from './alert.ts'
import { committedIn } from './outbox.ts'

/** The log of a partition is not cut before it has so many transitions. */
export const MOST_LOGGED = 1_000

/** A transition of the log, by when it was measured, ms. */
export interface LoggedAlert {
  at: number
  transition: TransitionRef
  alert: Alert
}

/** The transitions of a partition since a moment, ms. What can't be read is left out. */
export function readLoggedSince(
  { store, keys }: { store: Store; keys: Keys },
  partition: number,
  since: number,
): Promise<ReadSince<LoggedAlert>> {
  const read = (entry: [id: string, fields: string[]]) => readLogged(partition, entry)
  return readSince(store, { key: keys.partition(partition).log, most: MOST_LOGGED, read }, since)
}

function readLogged(partition: number, entry: [id: string, fields: string[]]): LoggedAlert | undefined {
  const [committed] = committedIn([entry])
  if (committed === undefined) return undefined
  const { alert } = committed.entry
  return { at: Date.parse(alert.measuredAt), transition: refOf(partition, committed.place), alert }
}

/** A transition by its partition and its place in the log there: `17-1732183200000-0`. */
export type TransitionRef = string

export function refOf(partition: number, place: string): TransitionRef {
  return `${partition}-${place}`
}

export function partitionOfRef(ref: TransitionRef): number {
  return Number(ref.slice(0, ref.indexOf('-')))
}

/** Order of commits within one partition. */
export function byCommit(one: TransitionRef, other: TransitionRef): number {
  const [[, at = 0, n = 0], [, otherAt = 0, otherN = 0]] = [partsOf(one), partsOf(other)]
  return at - otherAt || n - otherN
}

function partsOf(ref: TransitionRef): number[] {
  return ref.split('-').map(Number)
}

/** Transitions as deliveries carry them: ids, and for those that the message shows also their place. */
export function joinCarried(transitions: readonly { id: string; ref?: TransitionRef }[]): string {
  return transitions.map(({ id, ref }) => (ref === undefined ? id : `${ref}=${id}`)).join(' ')
}

/** Places of those that have one. */
export function refsIn(joined: string): TransitionRef[] {
  return wordsOf(joined).flatMap((one) => (one.includes('=') ? one.slice(0, one.indexOf('=')) : []))
}

/** Ids of the transitions that a delivery carries. */
export function carriedIds(joined: string): string[] {
  return wordsOf(joined).map((one) => one.slice(one.indexOf('=') + 1))
}

function wordsOf(joined: string): string[] {
  return joined.split(' ').filter((word) => word !== '')
}
