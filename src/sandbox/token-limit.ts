import { type FieldProblem, wholeNumberProblem } from './faults.ts'
import { type Rate, SlidingWindow } from './sliding-window.ts'

/**
 * The rate of the token endpoint, over both grants of all accounts. The provider doesn't publish its own, so there is none
 * until a test sets one.
 */
export class TokenLimit {
  #window: SlidingWindow | undefined

  set(rate: Rate): void {
    this.#window = new SlidingWindow(rate)
  }

  lift(): void {
    this.#window = undefined
  }

  /** Seconds to stay away if this call is one too many (it isn't counted then), otherwise nothing. */
  take(now: number): number | undefined {
    if (this.#window === undefined || this.#window.take(now) >= 0) return undefined
    return Math.max(1, Math.ceil(this.#window.msUntilRoom(now) / 1000))
  }
}

const MOST_REQUESTS = 1_000_000
const LONGEST_WINDOW_MS = 24 * 3_600_000

/** Reads `{ requests, perMs }` as it came in; a problem names the first field that is wrong. */
export function parseRate({ requests, perMs }: Record<string, unknown>): Rate | FieldProblem {
  const requestsProblem = wholeNumberProblem(requests, 1, MOST_REQUESTS)
  if (requestsProblem !== undefined) return { field: 'requests', problem: requestsProblem }
  const perMsProblem = wholeNumberProblem(perMs, 1, LONGEST_WINDOW_MS)
  if (perMsProblem !== undefined) return { field: 'perMs', problem: perMsProblem }
  return { requests: Number(requests), perMs: Number(perMs) }
}
