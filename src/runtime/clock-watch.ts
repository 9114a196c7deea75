import type { Clock } from './clock.ts'

/** Smaller corrections of a clock do no harm. */
const TOLERATED_MS = 5_000

/** Notices that this machine's clock was set back, by a clock that can't be set. */
export class ClockWatch {
  readonly #clock: Clock
  readonly #steady: () => number
  #ahead: number | undefined

  /** `steady`: ms since whenever, never set. */
  constructor(clock: Clock, steady: () => number) {
    this.#clock = clock
    this.#steady = steady
  }

  /** Since the last call. True at the first one: no earlier value is known. */
  mayHaveBeenSetBack(): boolean {
    const ahead = this.#clock.now() - this.#steady()
    const before = this.#ahead ?? Number.POSITIVE_INFINITY
    this.#ahead = ahead
    return before - ahead > TOLERATED_MS
  }
}
