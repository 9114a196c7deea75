import type { Message } from '../../../alerts/alert.ts'

/** The message as it is; what happened to an account has no alerts. */
export function plimsollBody({ type, timestamp, data }: Message): string {
  const { account } = data
  const body = { type, timestamp, data: account === undefined ? data : { account } }
  return JSON.stringify(body, (name, value) => (name === 'hublet' ? undefined : value))
}
