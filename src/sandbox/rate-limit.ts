/** One app's share of one account's calls, over any 10 seconds. Source: the provider's usage guidelines. */
export const RATE_LIMIT = { requests: 110, perMs: 10_000 } as const

interface Window {
  /** When the latest calls were made, as a ring of `RATE_LIMIT.requests` places. */
  readonly calls: Float64Array
  oldest: number
  count: number
}

/** A sliding window per account. */
export class RateLimit {
  readonly #windows = new Map<number, Window>()

  /** Calls left after this one, or -1 if this one is one too many (it isn't counted then). */
  take(hubId: number, now: number): number {
    const window = this.#windowOf(hubId)
    while (window.count > 0 && (window.calls[window.oldest] ?? 0) <= now - RATE_LIMIT.perMs) {
      window.oldest = (window.oldest + 1) % RATE_LIMIT.requests
      window.count--
    }
    if (window.count >= RATE_LIMIT.requests) return -1
    window.calls[(window.oldest + window.count) % RATE_LIMIT.requests] = now
    window.count++
    return RATE_LIMIT.requests - window.count
  }

  #windowOf(hubId: number): Window {
    const known = this.#windows.get(hubId)
    if (known !== undefined) return known
    const window = { calls: new Float64Array(RATE_LIMIT.requests), oldest: 0, count: 0 }
    this.#windows.set(hubId, window)
    return window
  }
}
