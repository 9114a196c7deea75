/** `until`: when it is worth asking again, ms. */
export type Admission = { is: 'admitted' } | { is: 'closed'; until: number }

interface Waiter {
  turn: number
  since: number
  admit(admission: Admission): void
}

/** Calls of this daemon that wait for permits: those of an earlier turn first, of the same turn first come, first served. */
export class Line {
  #waiting: Waiter[] = []

  get length(): number {
    return this.#waiting.length
  }

  join(turn: number, since: number): Promise<Admission> {
    const ahead = this.#waiting.findLastIndex((other) => other.turn <= turn)
    return new Promise((admit) => this.#waiting.splice(ahead + 1, 0, { turn, since, admit }))
  }

  /** Returns how many were there to be admitted. */
  admit(most: number): number {
    const admitted = this.#waiting.splice(0, most)
    for (const { admit } of admitted) admit({ is: 'admitted' })
    return admitted.length
  }

  /** `until`: when the `nth` gets its turn, if that is too late for it. */
  turnAway(until: (nth: number, since: number) => number | undefined): void {
    this.#waiting = this.#waiting.filter(({ since, admit }, n) => {
      const at = until(n + 1, since)
      if (at !== undefined) admit({ is: 'closed', until: at })
      return at === undefined
    })
  }
}
