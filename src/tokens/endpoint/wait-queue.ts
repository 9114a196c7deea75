import type { Calls } from './state.ts'

/** `until`: when it is worth asking again, ms. */
export type Admission = { is: 'admitted' } | { is: 'closed'; until: number }

/** The same for all: nearly every refresh asks, and nearly all are let through at once. */
export const ADMITTED: Promise<Admission> = Promise.resolve({ is: 'admitted' })

/** So many refreshes that wait go ahead of the next code. A flood of forged codes takes a fifth of the calls, and no more. */
const REFRESHES_FOR_A_CODE = 4

interface Waiter {
  batch: number
  since: number
  admit(admission: Admission): void
}

/** Calls of this daemon that wait for permits. */
export class WaitQueue {
  readonly #waiting: Record<keyof Calls, Waiter[]> = { refreshes: [], codes: [] }
  #refreshesSinceCode = REFRESHES_FOR_A_CODE

  get length(): Calls {
    const { refreshes, codes } = this.#waiting
    return { refreshes: refreshes.length, codes: codes.length }
  }

  /** Order: by batch, and within a batch first come, first served. */
  join(kind: keyof Calls, batch: number, since: number): Promise<Admission> {
    const waiting = this.#waiting[kind]
    const ahead = waiting.findLastIndex((other) => other.batch <= batch)
    return new Promise((admit) => waiting.splice(ahead + 1, 0, { batch, since, admit }))
  }

  /** Admits so many calls, and of each kind no more than that; returns how many were there. */
  admit(calls: number, most: Calls): Calls {
    const admitted = { refreshes: 0, codes: 0 }
    const hasNext = (kind: keyof Calls) => this.#waiting[kind].length > 0 && admitted[kind] < most[kind]
    while (admitted.refreshes + admitted.codes < calls) {
      const isForCode = this.#refreshesSinceCode >= REFRESHES_FOR_A_CODE || !hasNext('refreshes')
      const kind = isForCode && hasNext('codes') ? 'codes' : 'refreshes'
      if (!hasNext(kind)) break
      this.#waiting[kind].shift()?.admit({ is: 'admitted' })
      admitted[kind]++
      this.#refreshesSinceCode = kind === 'codes' ? 0 : this.#refreshesSinceCode + 1
    }
    return admitted
  }

  /** `until`: for those that must not wait any longer, when it is worth asking again. */
  turnAway(until: (kind: keyof Calls, since: number) => number | undefined): void {
    for (const kind of ['refreshes', 'codes'] as const) {
      this.#waiting[kind] = this.#waiting[kind].filter(({ since, admit }) => {
        const at = until(kind, since)
        if (at !== undefined) admit({ is: 'closed', until: at })
        return at === undefined
      })
    }
  }
}
