/** Work under way with a deadline. */
export interface Timed {
  /** Too late: called once, unless it was ended before. */
  expire(): void
}

/**
 * Deadlines that are all equally far away, on one timer: the oldest is late first. A timer of its own for each
 * call was set and taken back in vain. By the monotonic clock: a clock that is set ends no call.
 */
export class Deadlines {
  readonly #ms: number
  /** With the moment of each, in the order in which they began. */
  readonly #underWay = new Map<Timed, number>()
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.#ms = ms
  }

  begin(timed: Timed): void {
    this.#underWay.set(timed, performance.now() + this.#ms)
    if (this.#timer === undefined) this.#ringIn(this.#ms)
  }

  end(timed: Timed): void {
    this.#underWay.delete(timed)
  }

  /** It is left to ring when nothing is under way any more: next to a call that lasts it costs nothing. */
  #ringIn(ms: number): void {
    this.#timer = setTimeout(() => this.#ring(), Math.max(1, Math.ceil(ms))).unref()
  }

  #ring(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const [timed, endsAt] of this.#underWay) {
      if (endsAt > now) {
        this.#ringIn(endsAt - now)
        return
      }
      this.#underWay.delete(timed)
      timed.expire()
    }
  }
}
