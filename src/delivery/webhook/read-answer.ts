import { STATUS_CODES } from 'node:http'
import type { AttemptOutcome } from '../receiver.ts'

const SECOND = 1000
const DAY = 24 * 60 * 60 * SECOND

/** What a webhook receiver's answer means, by Standard Webhooks. */
export function readAnswer(status: number, retryAfter: string | undefined, now: number): AttemptOutcome {
  if (status >= 200 && status < 300) return { outcome: 'delivered' }
  if (status >= 300 && status < 400) {
    return { outcome: 'retry', reason: `answered ${status}: redirects are not followed` }
  }
  if (status === 410) return { outcome: 'disable', reason: 'answered 410: this receiver wants no more messages' }
  const name = STATUS_CODES[status]
  const reason = name === undefined ? `answered ${status}` : `answered ${status}: ${name}`
  const wait = status === 429 || status === 503 ? parseRetryAfter(retryAfter, now) : undefined
  return wait === undefined ? { outcome: 'retry', reason } : { outcome: 'retry', reason, retryAfterMs: wait }
}

/** Seconds or an HTTP date, held between a second and a day: neither a busy loop nor a wait that nobody remembers. */
function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  const text = value?.trim() ?? ''
  const wait = /^\d+$/.test(text) ? Number(text) * SECOND : isHttpDate(text) ? Date.parse(text) - now : Number.NaN
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, SECOND), DAY)
}

/** `Date.parse` alone takes nearly anything, such as "-1", for a date. */
function isHttpDate(text: string): boolean {
  return /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)
}
