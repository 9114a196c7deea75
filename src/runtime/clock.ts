import { setTimeout as sleep } from 'node:timers/promises'
import { every } from './every.ts'

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
