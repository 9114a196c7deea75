import type { AttemptOutcome } from './receiver.ts'

export type AfterAttempt = { next: 'done' } | { next: 'retry'; at: number } | { next: 'dead'; reason: string }

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Quick at first, for a receiver that restarts; then hours, for one that an operator has to fix. The last one repeats. */
const DELAYS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR]
const LAST_DELAY = 12 * HOUR
/** Longest pause after a receiver has named a shorter one. */
const LONGEST_ASKED_MS = 60_000
const JITTER = 0.2
export const GIVE_UP_AFTER = 72 * HOUR

type Made = Record<'attempts' | 'waitedMs' | 'now' | 'random', number>

/**
 * The next step after an attempt: `attempts` were made so far, this one included, with `waitedMs` between them; `random`
 * is a number from 0 to 1. The last attempt falls on the end of the three days, however the delays add up, and whatever wait
 * the receiver asked for. The waits are counted, and no clock is compared with that of the first attempt: it may have been wrong then.
 */
export function afterAttempt(outcome: AttemptOutcome, made: Made): AfterAttempt {
  switch (outcome.outcome) {
    case 'delivered':
      return { next: 'done' }
    case 'refuse':
      return { next: 'dead', reason: outcome.reason }
    case 'disable':
      if (outcome.waits !== true) return { next: 'dead', reason: outcome.reason }
      // Until somebody enables its receiver, or to the end.
      return retry({ ...outcome, retryAfterMs: GIVE_UP_AFTER }, made)
    case 'retry':
      return retry(outcome, made)
  }
}

function retry(
  { reason, retryAfterMs }: { reason: string; retryAfterMs?: number },
  { attempts, waitedMs, now, random }: Made,
): AfterAttempt {
  const end = now + GIVE_UP_AFTER - waitedMs
  if (now >= end) return { next: 'dead', reason: gaveUp(attempts, reason) }
  const delay = delayAfter(attempts) * (1 - JITTER + 2 * JITTER * random)
  // A receiver that says how long to wait is not down: hours later it would get the last of many.
  const wait = retryAfterMs ? Math.max(retryAfterMs, Math.min(delay, LONGEST_ASKED_MS)) : delay
  return { next: 'retry', at: Math.min(Math.round(now + wait), end) }
}

function delayAfter(attempts: number): number {
  return DELAYS[Math.max(1, attempts) - 1] ?? LAST_DELAY
}

function gaveUp(attempts: number, reason: string): string {
  return `gave up after ${attempts === 1 ? '1 attempt' : `${attempts} attempts`} in three days: ${reason}`
}
