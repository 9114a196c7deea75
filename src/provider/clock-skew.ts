/** A `Date` header has whole seconds, and its answer was on the way for a while: looking more often tells no more. */
const LOOK_EVERY_MS = 1_000

/** How far the provider's clock is ahead of ours, from the `Date` headers of its answers (RFC 9110, 6.6.1). */
export class ClockSkew {
  #ms: number | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  get ms(): number | undefined {
    return this.#ms
  }

  note(date: string | string[] | undefined, sentAt: number, answeredAt: number): void {
    if (typeof date !== 'string' || Math.abs(answeredAt - this.#lookedAt) < LOOK_EVERY_MS) return
    const theirs = Date.parse(date)
    if (Number.isNaN(theirs)) return
    this.#lookedAt = answeredAt
    // Their second was half over, on average, and ours is the middle of the call.
    this.#ms = Math.round(theirs + 500 - (sentAt + answeredAt) / 2)
  }
}
