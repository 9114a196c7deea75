import { CallError } from './call-error.ts'

/** The endpoints of tokens; those of limits have the names of their reports. */
export const TOKEN_ENDPOINTS = ['token', 'metadata', 'delete'] as const

/** How a call ended: the class of the answer's status, or why there was none. `other`: an unexpected status or answer. */
export const CALL_CLASSES = ['2xx', '4xx', '429', '5xx', 'other', 'timeout', 'network'] as const
export type CallClass = (typeof CALL_CLASSES)[number]

/** One call for metrics: neither its account nor its content. Plain data. */
export interface ObservedCall {
  endpoint: string
  class: CallClass
  /** Status of the answer; absent where none came. */
  status?: number
  ms: number
}

export function classOfStatus(status: number): CallClass {
  if (status === 429) return '429'
  if (status >= 200 && status < 300) return '2xx'
  if (status >= 400 && status < 500) return '4xx'
  return status >= 500 && status < 600 ? '5xx' : 'other'
}

export function classOfError(error: unknown): CallClass {
  const code = error instanceof CallError ? error.code : ''
  return code === 'timeout' || code === 'network' ? code : 'other'
}

/** A `Date` header has whole seconds, and its answer took a while: more samples would not be more exact. */
const COMPARE_EVERY_MS = 1_000

/** In a call that took longer, this machine may have been asleep or its clock set: it is ignored. */
const LONGEST_CALL_MS = 15_000

/** How far the provider's clock is ahead of ours, from the `Date` headers of its answers (RFC 9110, 6.6.1). */
export class ClockSkew {
  #ms: number | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  get ms(): number | undefined {
    return this.#ms
  }

  note(date: string | string[] | undefined, sentAt: number, answeredAt: number): void {
    if (typeof date !== 'string' || Math.abs(answeredAt - this.#lookedAt) < COMPARE_EVERY_MS) return
    if (answeredAt < sentAt || answeredAt - sentAt > LONGEST_CALL_MS) return
    const theirs = Date.parse(date)
    // Date.parse takes almost anything: only the form that servers must send is believed.
    if (Number.isNaN(theirs) || new Date(theirs).toUTCString() !== date) return
    this.#lookedAt = answeredAt
    // Their second was half over, on average, and ours is the middle of the call.
    this.#ms = Math.round(theirs + 500 - (sentAt + answeredAt) / 2)
  }
}
