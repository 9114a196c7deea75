/**
 * A process-wide bound on calls under way, shared by all running chunks: without it each chunk would bring its own
 * connections, and many small reads cost more CPU than they win. Urgent work is let in ahead of the rest, so that polls
 * never hold up a token.
 */
export class InFlight {
  readonly #limit: number
  #running = 0
  readonly #urgent: (() => void)[] = []
  readonly #waiting: (() => void)[] = []

  constructor(limit: number) {
    this.#limit = limit
  }

  async run<T>(urgency: 'urgent' | 'normal', work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) {
      await new Promise<void>((enter) => (urgency === 'urgent' ? this.#urgent : this.#waiting).push(enter))
    } else {
      this.#running++
    }
    try {
      return await work()
    } finally {
      // The place is handed over as it is: freeing and taking it again would let a newcomer in between.
      const next = this.#urgent.shift() ?? this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}
