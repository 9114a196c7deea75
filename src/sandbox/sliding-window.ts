/** How many calls there may be in any stretch of time. */
export interface Rate {
  readonly requests: number
  readonly perMs: number
}

/** The times of the latest calls, as a ring of `rate.requests` places. */
export class SlidingWindow {
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
