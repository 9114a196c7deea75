import type { Alert } from '../alert.ts'
import type { SeriesState } from '../series-state.ts'

/** What is committed to the outbox. */
export interface OutboxEntry {
  alert: Alert
  /** The alert belongs to an account's very first reading. */
  firstReading?: true
  /** The alert was at both levels since it opened: what gets better is told to whoever gets alerts of either. */
  toBothLevels?: true
  /** The receiver that the alert is about: it would not get it. */
  notTo?: string
}

/** As it follows from the alert's state: whoever was told that something is wrong is told when it is not. */
export function entryOf(alert: Alert, { wasAtBoth }: Pick<SeriesState, 'wasAtBoth'>): OutboxEntry {
  const getsBetter = alert.reason === 'eased' || alert.status === 'resolved'
  return wasAtBoth === true && getsBetter ? { alert, toBothLevels: true } : { alert }
}

export function encodeEntry(entry: OutboxEntry): string {
  return JSON.stringify(entry)
}

export function decodeEntry(stored: string): OutboxEntry {
  return JSON.parse(stored) as OutboxEntry
}
