import type { Clock } from './clock.ts'

/**
 * Teardown, registered beside construction and run backwards. Every step runs, even if others fail; what failed is
 * reported together at the end. Closing twice is closing once.
 */
export class Lifecycle {
  readonly #steps: { name: string; close: () => Promise<void> | void }[] = []
  #closing: Promise<void> | undefined
  #isClosed = false

  /** A step that is registered while others are closed comes next; after the last it is closed at once. */
  onClose(name: string, close: () => Promise<void> | void): void {
    this.#steps.push({ name, close })
    if (!this.#isClosed) return
    this.#closing = Promise.all([this.#closing, this.#runBackwards()]).then(() => undefined)
    this.#closing.catch(() => undefined) // The caller of close gets the error; there may be none.
  }

  close(): Promise<void> {
    this.#closing ??= this.#runBackwards()
    return this.#closing
  }

  async #runBackwards(): Promise<void> {
    const failures: Error[] = []
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.close()
      } catch (cause) {
        failures.push(new Error(`could not close ${step.name}`, { cause }))
      }
    }
    this.#isClosed = true
    if (failures.length > 0) throw new AggregateError(failures, failures.map((failure) => failure.message).join('; '))
  }
}

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

  /** Time for a step that would be given `mostMs` alone. */
  of(mostMs: number): number {
    const now = this.#clock.steady()
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
