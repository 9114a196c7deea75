/** A `Date` header has whole seconds, and its answer took a while: more samples would not be more exact. */
const LOOK_EVERY_MS = 1_000

/** In a call that took longer, this machine may have been asleep or its clock set: it is ignored. */
const LONGEST_CALL_MS = 15_000

/** How far the provider's clock is ahead of ours, from the `Date` headers of its answers (RFC 9110, 6.6.1). */
export class ClockSkew {
  #ms: number | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  get ms(): number | undefined {
    return this.#ms
  }

  note(date: string | string[] | undefined, sentAt: number, answeredAt: number): void {
    if (typeof date !== 'string' || Math.abs(answeredAt - this.#lookedAt) < LOOK_EVERY_MS) return
    if (answeredAt < sentAt || answeredAt - sentAt > LONGEST_CALL_MS) return
    const theirs = Date.parse(date)
    // Date.parse takes almost anything: only the form that servers must send is believed.
    if (Number.isNaN(theirs) || new Date(theirs).toUTCString() !== date) return
    this.#lookedAt = answeredAt
    // Their second was half over, on average, and ours is the middle of the call.
    this.#ms = Math.round(theirs + 500 - (sentAt + answeredAt) / 2)
  }
}
