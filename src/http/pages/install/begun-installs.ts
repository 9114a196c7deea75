const WINDOW_MS = 60_000
/** Far more than customers in a campaign come to; an hour of it is some 40 MB in Redis. */
export const MOST_BEGUN = 6_000

/**
 * Counts the installs that were begun, a minute at a time. Anybody may begin one, and each is remembered for an hour in the
 * very Redis that tokens are stored in: a flood must not fill it.
 */
export class BegunInstalls {
  #until = Number.NEGATIVE_INFINITY
  #count = 0

  /** How long to wait before another one may begin, ms; 0: it has begun. */
  begin(now: number): number {
    // A clock that was set back must not keep the door closed.
    if (now >= this.#until || this.#until - now > WINDOW_MS) {
      this.#until = now + WINDOW_MS
      this.#count = 0
    }
    if (this.#count >= MOST_BEGUN) return this.#until - now
    this.#count++
    return 0
  }
}
