import { type Rate, SlidingWindow } from './sliding-window.ts'

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
