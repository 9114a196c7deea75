import { type FieldProblem, wholeNumberProblem } from './faults.ts'

/** How many calls there may be in any stretch of time. */
interface Rate {
  readonly requests: number
  readonly perMs: number
}

/** The times of the latest calls, as a ring of `rate.requests` places. */
class SlidingWindow {
  readonly #rate: Rate
  readonly #calls: Float64Array
  #oldest = 0
  #count = 0

  constructor(rate: Rate) {
    this.#rate = rate
    this.#calls = new Float64Array(rate.requests)
  }

  /** Calls left after this one, or -1 if this one is one too many (it isn't counted then). */
  take(now: number): number {
    const { requests, perMs } = this.#rate
    while (this.#count > 0 && this.#oldestCall() <= now - perMs) {
      this.#oldest = (this.#oldest + 1) % requests
      this.#count--
    }
    if (this.#count >= requests) return -1
    this.#calls[(this.#oldest + this.#count) % requests] = now
    this.#count++
    return requests - this.#count
  }

  /** Milliseconds until a full window has room for one more. */
  msUntilRoom(now: number): number {
    return Math.max(0, this.#oldestCall() + this.#rate.perMs - now)
  }

  #oldestCall(): number {
    return this.#calls[this.#oldest] ?? 0
  }
}

/** One app's share of one account's calls, over any 10 seconds. Source: the provider's usage guidelines. */
export const RATE_LIMIT: Rate = { requests: 110, perMs: 10_000 }

/** A sliding window per account. */
export class RateLimit {
  readonly #windows = new Map<number, SlidingWindow>()

  /** Calls left after this one, or -1 if this one is one too many (it isn't counted then). */
  take(hubId: number, now: number): number {
    let window = this.#windows.get(hubId)
    if (window === undefined) {
      window = new SlidingWindow(RATE_LIMIT)
      this.#windows.set(hubId, window)
    }
    return window.take(now)
  }
}

/**
 * The rate of the token endpoint, over both grants of all accounts. The provider doesn't publish its own, so there is none
 * until a test sets one.
 */
export class TokenLimit {
  #window: SlidingWindow | undefined

  set(rate: Rate): void {
    this.#window = new SlidingWindow(rate)
  }

  lift(): void {
    this.#window = undefined
  }

  /** Seconds to stay away if this call is one too many (it isn't counted then), otherwise nothing. */
  take(now: number): number | undefined {
    if (this.#window === undefined || this.#window.take(now) >= 0) return undefined
    return Math.max(1, Math.ceil(this.#window.msUntilRoom(now) / 1000))
  }
}

const MOST_REQUESTS = 1_000_000
const LONGEST_WINDOW_MS = 24 * 3_600_000

/** Reads `{ requests, perMs }` as it came in; a problem names the first field that is wrong. */
export function parseRate({ requests, perMs }: Record<string, unknown>): Rate | FieldProblem {
  const requestsProblem = wholeNumberProblem(requests, 1, MOST_REQUESTS)
  if (requestsProblem !== undefined) return { field: 'requests', problem: requestsProblem }
  const perMsProblem = wholeNumberProblem(perMs, 1, LONGEST_WINDOW_MS)
  if (perMsProblem !== undefined) return { field: 'perMs', problem: perMsProblem }
  return { requests: Number(requests), perMs: Number(perMs) }
}
