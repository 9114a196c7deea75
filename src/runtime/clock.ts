import { setTimeout as sleep } from 'node:timers/promises'

/** The time, passed in everywhere so that a test can hold it still. Milliseconds since 1970, UTC. */
export interface Clock {
  /** By the clock of Redis once it has answered: all that is stored goes by it, whatever the machine's own clock shows. */
  now(): number
  /** Ms since whenever, by a clock that nobody sets: for how long something takes. It may stand still while the machine sleeps. */
  steady(): number
  /** The ms that have passed since. */
  stopwatch(): () => number
  /** Resolves after `ms`, or at once when `signal` aborts: the caller checks the signal itself. */
  wait(ms: number, signal?: AbortSignal): Promise<void>
  /** Does it each time so many ms have passed, until the returned function is called. */
  every(ms: number, work: () => Promise<void>): () => void
  /** Redis was asked, and answered, at these moments of the steady clock, and its own clock showed `now` in between. */
  follow(now: number, askedAt: number, answeredAt: number): void
}

/** Clocks of daemons that follow Redis are never so far apart. */
export const APART_MS = 5_000

/** This machine's own time: for what reads that too, as node-cron does, and never to be stored. */
export const machineTime = () => Date.now()

export function createClock(machine = { now: machineTime, steady: () => performance.now() }): Clock {
  let ahead: number | undefined
  return {
    now: () => (ahead === undefined ? machine.now() : Math.floor(machine.steady() + ahead)),
    steady: machine.steady,
    stopwatch: () => {
      const at = machine.steady()
      return () => machine.steady() - at
    },
    wait: async (ms, signal) => {
      await sleep(Math.max(0, ms), undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
        if (signal?.aborted !== true) throw error
      })
    },
    every,
    follow: (now, askedAt, answeredAt) => {
      // An answer that took long says little: what fits between its two moments stays as it is.
      const known = ahead ?? machine.now() - machine.steady()
      ahead = Math.min(Math.max(known, now - answeredAt), now - askedAt)
    },
  }
}

export const systemClock = createClock()

interface Repeated {
  work: () => Promise<void>
  everyMs: number
  nextAt: number
}

/** Checked this often. */
const CHECK_EVERY_MS = 100

const repeated = new Set<Repeated>()
let timer: NodeJS.Timeout | undefined

/**
 * One timer for all that is repeated: nearly all of it ends before it was done once, and a timer of its own for each
 * was 2 % of a refresh.
 */
function every(ms: number, work: () => Promise<void>): () => void {
  const one = { work, everyMs: ms, nextAt: performance.now() + ms }
  repeated.add(one)
  timer ??= setInterval(repeatDue, CHECK_EVERY_MS)
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
