import { STATUS_CODES } from 'node:http'
import { retryAfterMs } from '../../runtime/retry-after.ts'
import type { AttemptOutcome } from '../receiver.ts'

interface Meaning {
  from: number
  to: number
  outcome: AttemptOutcome['outcome']
  /** The next attempt waits for as long as `Retry-After` asks. */
  waits?: true
  /** In place of the status' own name. */
  why?: string
}

/** What each status means, by Standard Webhooks: the first row that has it decides. */
const MEANINGS: readonly Meaning[] = [
  { from: 100, to: 199, outcome: 'retry', why: 'no final answer' },
  { from: 200, to: 299, outcome: 'delivered' },
  { from: 300, to: 399, outcome: 'retry', why: 'redirects are not followed' },
  { from: 410, to: 410, outcome: 'disable', why: 'this receiver wants no more messages' },
  { from: 429, to: 429, outcome: 'retry', waits: true },
  { from: 503, to: 503, outcome: 'retry', waits: true },
  { from: 400, to: 599, outcome: 'retry' },
]

export function readAnswer(status: number, retryAfter: string | undefined, now: number): AttemptOutcome {
  const meaning = MEANINGS.find(({ from, to }) => status >= from && status <= to)
  if (meaning?.outcome === 'delivered') return { outcome: 'delivered', answer: status }
  const why = meaning?.why ?? STATUS_CODES[status] ?? ''
  const reason = why === '' ? `answered ${status}` : `answered ${status}: ${why}`
  if (meaning?.outcome === 'disable') return { outcome: 'disable', answer: status, reason }
  const wait = meaning?.waits === true ? retryAfterMs(retryAfter, now) : undefined
  return { outcome: 'retry', answer: status, reason, ...(wait !== undefined && { retryAfterMs: wait }) }
}
