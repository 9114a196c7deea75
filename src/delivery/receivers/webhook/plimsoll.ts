import type { Message } from '../../../alerts/alert.ts'

/** The message as it is. */
export function plimsollBody({ type, timestamp, data }: Message): string {
  return JSON.stringify({ type, timestamp, data })
}
