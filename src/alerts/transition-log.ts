import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { type ReadSince, readSince } from '../redis/read-since.ts'
import type { Alert } from './alert.ts'
import { refOf, type TransitionRef } from './ledger.ts'
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
  return { at: Date.parse(alert.measuredAt), transition: refOf(partition, committed.name), alert }
}
