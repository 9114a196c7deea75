const WINDOW_MS = 60_000

/** For what strangers can have logged as often as they like: so many lines a minute, the rest is counted. */
export class LineQuota {
  readonly #most: number
  #windowEnds = Number.NEGATIVE_INFINITY
  #lines = 0
  #unlogged = 0

  constructor(most: number) {
    this.#most = most
  }

  /** How many lines were left out since the last one; undefined: this one is left out too. */
  take(now: number): number | undefined {
    // A clock that was set back must not silence the log until it has caught up.
    if (now >= this.#windowEnds || this.#windowEnds - now > WINDOW_MS) {
      this.#windowEnds = now + WINDOW_MS
      this.#lines = 0
    }
    if (this.#lines >= this.#most) {
      this.#unlogged++
      return undefined
    }
    this.#lines++
    const unlogged = this.#unlogged
    this.#unlogged = 0
    return unlogged
  }
}
