import type { Clock } from './clock.ts'

/**
 * The time that several steps have together, each for as long as it may take at most: what one has used up the next ones
 * lack. It runs from the first question on.
 */
export class ShutdownBudget {
  readonly #clock: Clock
  readonly #totalMs: number
  #until: number | undefined

  constructor(clock: Clock, totalMs: number) {
    this.#clock = clock
    this.#totalMs = totalMs
  }

  /** What a step may take that would be given `mostMs` alone. */
  of(mostMs: number): number {
    const now = this.#clock.now()
    this.#until ??= now + this.#totalMs
    return Math.max(0, Math.min(mostMs, this.#until - now))
  }

  /** Waits for the work, for as long as such a step may take. */
  async wait(mostMs: number, work: Promise<void>): Promise<void> {
    const ended = new AbortController()
    try {
      await Promise.race([work, this.#clock.wait(this.of(mostMs), ended.signal)])
    } finally {
      ended.abort()
    }
  }
}
