import type { Message } from '../../../alerts/alert.ts'

/** The message as it is; what happened to an account has no alerts. */
export function plimsollBody({ type, timestamp, data }: Message): string {
  const { account } = data
  return JSON.stringify({ type, timestamp, data: account === undefined ? data : { account } })
}
