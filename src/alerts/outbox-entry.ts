import type { Alert } from './alert.ts'

/** What is committed to the outbox: the alert, and whether it belongs to an account's very first reading. */
export interface OutboxEntry {
  alert: Alert
  firstReading?: true
}

export function encodeEntry(entry: OutboxEntry): string {
  return JSON.stringify(entry)
}

export function decodeEntry(stored: string): OutboxEntry {
  return JSON.parse(stored) as OutboxEntry
}
