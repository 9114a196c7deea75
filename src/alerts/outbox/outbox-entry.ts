import type { Alert } from '../alert.ts'

/** What is committed to the outbox. */
export interface OutboxEntry {
  alert: Alert
  /** The alert belongs to an account's very first reading. */
  firstReading?: true
  /** The receiver that the alert is about: it would not get it. */
  notTo?: string
}

export function encodeEntry(entry: OutboxEntry): string {
  return JSON.stringify(entry)
}

export function decodeEntry(stored: string): OutboxEntry {
  return JSON.parse(stored) as OutboxEntry
}
