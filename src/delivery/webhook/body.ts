import type { Message } from '../../alerts/alert.ts'

/** The body of `format: plimsoll`. Made anew for each attempt, and the same each time: copies can be compared. */
export function webhookBody({ type, timestamp, data }: Message): string {
  return JSON.stringify({ type, timestamp, data })
}
