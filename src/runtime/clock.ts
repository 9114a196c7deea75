import { setTimeout as sleep } from 'node:timers/promises'

/** The time, passed in everywhere so that a test can hold it still. Milliseconds since 1970, UTC. */
export interface Clock {
  now(): number
  /** Resolves after `ms`, or at once when `signal` aborts: whoever waits looks at the signal itself. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  wait: async (ms, signal) => {
    await sleep(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error
    })
  },
}
