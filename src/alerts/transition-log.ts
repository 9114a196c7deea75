import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { type ReadSince, readSince } from '../redis/read-since.ts'
import type { Alert } from './alert.ts'
import { readableEntry } from './outbox.ts'

/** The log is not cut before it has so many transitions. */
export const MOST_LOGGED = 50_000
/** So many places are kept of the transitions of one account. */
export const MOST_OF_ACCOUNT = 200

/** A transition of the log, by when it was measured, ms. */
export interface LoggedAlert {
  at: number
  transition: TransitionRef
  alert: Alert
}

/** The transitions since a moment, ms. What can't be read is left out. */
export function readLoggedSince(
  { store, keys }: { store: Store; keys: Keys },
  since: number,
): Promise<ReadSince<LoggedAlert>> {
  return readSince(store, { key: keys.transitions, most: MOST_LOGGED, read: readLogged }, since)
}

/** Undefined for what can't be read. */
export function readLogged([transition, [, stored = '']]: [id: string, fields: string[]]): LoggedAlert | undefined {
  const alert = readableEntry(stored)?.alert
  return alert && { at: Date.parse(alert.measuredAt), transition, alert }
}

/** The place of a transition in the log: `1732183200000-0`. */
export type TransitionRef = string

/** The order in which they were committed: by both numbers of a place. Tens of thousands are sorted at once. */
export function byCommit(one: TransitionRef, other: TransitionRef): number {
  const secondOf = (place: string) => Number(place.slice(place.indexOf('-') + 1))
  return Number.parseInt(one, 10) - Number.parseInt(other, 10) || secondOf(one) - secondOf(other)
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
