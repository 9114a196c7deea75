import type { z } from 'zod'
import { fields, wholeFrom } from './fields.ts'

const MOST_REQUESTS = 1_000_000
const LONGEST_WINDOW_MS = 24 * 3_600_000

/** How many calls there may be in any stretch of time. */
export const rateShape = fields({ requests: wholeFrom(1, MOST_REQUESTS), perMs: wholeFrom(1, LONGEST_WINDOW_MS) })

type Rate = z.output<typeof rateShape>

/** One app's share of one account's calls, over any 10 seconds. Source: the provider's usage guidelines. */
export const ACCOUNT_RATE: Rate = { requests: 110, perMs: 10_000 }

/** The calls of the latest stretch of time. */
export class SlidingWindow {
  readonly #rate: Rate
  /** Milliseconds since 1970, oldest first. */
  readonly #calls: number[] = []

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /** Calls left after this one, or -1 if this one is one too many (it isn't counted then). */
  take(now: number): number {
    const { requests, perMs } = this.#rate
    while (this.#calls[0] !== undefined && this.#calls[0] <= now - perMs) this.#calls.shift()
    if (this.#calls.length >= requests) return -1
    return requests - this.#calls.push(now)
  }

  /** Milliseconds until a full window has room for one more. */
  msUntilRoom(now: number): number {
    return Math.max(0, (this.#calls[0] ?? 0) + this.#rate.perMs - now)
  }
}
