import type { Clock } from './clock.ts'

/** Clocks are corrected by less without anybody noticing. */
const TOLERATED_MS = 5_000

/** Notices that this machine's clock was set back, by one that nobody can set. */
export class ClockWatch {
  readonly #clock: Clock
  readonly #steady: () => number
  #ahead: number | undefined

  /** `steady`: ms since whenever, never set. */
  constructor(clock: Clock, steady: () => number) {
    this.#clock = clock
    this.#steady = steady
  }

  /** Since the last look. True at the first one: nobody has watched before. */
  mayHaveBeenSetBack(): boolean {
    const ahead = this.#clock.now() - this.#steady()
    const before = this.#ahead ?? Number.POSITIVE_INFINITY
    this.#ahead = ahead
    return before - ahead > TOLERATED_MS
  }
}
