/**
 * A process-wide bound on calls under way, shared by all running chunks: without it each chunk would bring its own
 * connections, and many small reads cost more CPU than they win. A part of the places is kept for urgent work, and it is
 * let in ahead of the rest: polls that hang never hold up a token.
 */
export class InFlight {
  readonly #limit: number
  readonly #normalLimit: number
  #running = 0
  readonly #urgent: (() => void)[] = []
  readonly #normal: (() => void)[] = []

  /** `kept`: how many of the places normal work may not take. */
  constructor(limit: number, kept = 0) {
    this.#limit = limit
    this.#normalLimit = limit - kept
  }

  async run<T>(urgency: 'urgent' | 'normal', work: () => Promise<T>): Promise<T> {
    if (this.#running < (urgency === 'urgent' ? this.#limit : this.#normalLimit)) this.#running++
    else await new Promise<void>((enter) => (urgency === 'urgent' ? this.#urgent : this.#normal).push(enter))
    try {
      return await work()
    } finally {
      this.#handOver()
    }
  }

  /** The place is handed over as it is: freeing and taking it again would let a newcomer in between. */
  #handOver(): void {
    const next = this.#urgent.shift() ?? (this.#running <= this.#normalLimit ? this.#normal.shift() : undefined)
    if (next === undefined) this.#running--
    else next()
  }
}
