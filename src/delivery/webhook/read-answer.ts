import { STATUS_CODES } from 'node:http'
import { retryAfterMs } from '../../runtime/retry-after.ts'
import type { AttemptOutcome } from '../receiver.ts'

/** What a webhook receiver's answer means, by Standard Webhooks. */
export function readAnswer(status: number, retryAfter: string | undefined, now: number): AttemptOutcome {
  if (status >= 200 && status < 300) return { outcome: 'delivered' }
  if (status >= 300 && status < 400) {
    return { outcome: 'retry', reason: `answered ${status}: redirects are not followed` }
  }
  if (status === 410) return { outcome: 'disable', reason: 'answered 410: this receiver wants no more messages' }
  const name = STATUS_CODES[status]
  const reason = name === undefined ? `answered ${status}` : `answered ${status}: ${name}`
  const wait = status === 429 || status === 503 ? retryAfterMs(retryAfter, now) : undefined
  return wait === undefined ? { outcome: 'retry', reason } : { outcome: 'retry', reason, retryAfterMs: wait }
}
