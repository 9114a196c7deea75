import { setTimeout as sleep } from 'node:timers/promises'

/** The time, passed in everywhere so that a test can hold it still. Milliseconds since 1970, UTC. */
export interface Clock {
  now(): number
  /** The ms that have passed since. Never too few: a clock that was set back is not believed. */
  stopwatch(): () => number
  /** Resolves after `ms`, or at once when `signal` aborts: the caller checks the signal itself. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
  /** Does it each time so many ms have passed, until the returned function is called. */
  every(ms: number, work: () => Promise<void>): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // The clock that can't be set may stop while the machine sleeps.
  stopwatch: () => {
    const [at, steadyAt] = [Date.now(), performance.now()]
    return () => Math.max(Date.now() - at, performance.now() - steadyAt)
  },
  wait: async (ms, signal) => {
    await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error
    })
  },
  every,
}

interface Repeated {
  work: () => Promise<void>
  everyMs: number
  nextAt: number
}

/** Checked this often: a few times within the third of the shortest lease. */
const LOOK_EVERY_MS = 100

const repeated = new Set<Repeated>()
let timer: NodeJS.Timeout | undefined

/**
 * One timer for all that is repeated: nearly all leases end before they are renewed once, and a timer of its own for each
 * was 2 % of a refresh. By the monotonic clock: a clock that is set must not end a lease.
 */
function every(ms: number, work: () => Promise<void>): () => void {
  const one = { work, everyMs: ms, nextAt: performance.now() + ms }
  repeated.add(one)
  timer ??= setInterval(repeatDue, LOOK_EVERY_MS)
  return () => repeated.delete(one)
}

function repeatDue(): void {
  const now = performance.now()
  for (const one of repeated) {
    if (now < one.nextAt) continue
    one.nextAt = now + one.everyMs
    void one.work()
  }
  if (repeated.size > 0) return
  clearInterval(timer)
  timer = undefined
}

/** Smaller corrections of a clock do no harm. */
const TOLERATED_MS = 5_000

/** Notices that this machine's clock was set back, by a clock that can't be set. */
export class ClockWatch {
  readonly #clock: Clock
  readonly #steady: () => number
  #ahead: number | undefined

  /** `steady`: ms since whenever, never set. */
  constructor(clock: Clock, steady: () => number) {
    this.#clock = clock
    this.#steady = steady
  }

  /** Since the last call. True at the first one: no earlier value is known. */
  mayHaveBeenSetBack(): boolean {
    const ahead = this.#clock.now() - this.#steady()
    const before = this.#ahead ?? Number.POSITIVE_INFINITY
    this.#ahead = ahead
    return before - ahead > TOLERATED_MS
  }
}
