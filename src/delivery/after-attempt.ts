import type { AttemptOutcome, Recipients } from './receiver.ts'
import type { RecipientsRecord } from './receiver-health.ts'

/** Record of an attempt: what it comes to, and what follows. Moments are ms. */
export interface AttemptRecord {
  /**
   * `refused`: the address wants no more, and its receiver is switched off; `waits`: it is switched off too, and the delivery waits
   * until it is enabled.
   */
  outcome: 'delivered' | 'retry' | 'dead' | 'refused' | 'waits'
  /** Null unless there is a next one; of one that was refused: where its receiver has another address by now. */
  nextAt: number | null
  reason: string
  /** None where nothing was tried, or where it says nothing about the receiver. */
  ms?: number | null
  answer?: number | undefined
  /** A mark of the address that was asked. */
  address?: string | undefined
  /** Until when that asked to be left alone. */
  pausedUntil?: number | undefined
  /** Recipients that get it at the next attempt, alone. */
  left?: readonly string[]
  recipients?: RecipientsRecord
}

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

/** The record of an attempt: `attempts` were made so far, this one included, with `waitedMs` between them; `random` is from 0 to 1. */
export function afterAttempt(outcome: AttemptOutcome, made: Made): AttemptRecord {
  const pauseMs = pauseAfter(outcome)
  const nextAt = outcome.outcome === 'retry' || pauseMs !== undefined ? nextAttempt(pauseMs, made) : null
  return {
    outcome: recordedAs(outcome, nextAt),
    nextAt,
    reason: outcome.outcome === 'delivered' ? (outcome.detail ?? '') : outcome.reason,
    answer: outcome.answer,
    pausedUntil: pauseMs ? Math.round(made.now + pauseMs) : undefined,
    ...(outcome.recipients && recipientsAfter(outcome.recipients, nextAt)),
  }
}

/** How long the receiver is left alone; one whose login is refused until somebody enables it, or to the end. */
function pauseAfter(outcome: AttemptOutcome): number | undefined {
  if (outcome.outcome === 'disable' && outcome.waits === true) return GIVE_UP_AFTER
  return outcome.outcome === 'retry' ? outcome.retryAfterMs : undefined
}

function recordedAs(outcome: AttemptOutcome, nextAt: number | null): AttemptRecord['outcome'] {
  switch (outcome.outcome) {
    case 'delivered':
      return 'delivered'
    case 'refuse':
      return 'dead'
    case 'disable':
      if (outcome.waits !== true) return 'refused'
      return nextAt === null ? 'dead' : 'waits'
    case 'retry':
      return nextAt === null ? 'dead' : 'retry'
  }
}

/**
 * Null: it is given up. The last attempt falls on the end of the three days, however the delays add up, and whatever wait the
 * receiver asked for. The waits are counted, and no clock is compared with that of the first attempt: it may have been wrong then.
 */
function nextAttempt(pauseMs: number | undefined, { attempts, waitedMs, now, random }: Made): number | null {
  const end = now + GIVE_UP_AFTER - waitedMs
  if (now >= end) return null
  const delay = (DELAYS[Math.max(1, attempts) - 1] ?? LAST_DELAY) * (1 - JITTER + 2 * JITTER * random)
  // A receiver that says how long to wait is not down: hours later it would get the last of many.
  const wait = pauseMs ? Math.max(pauseMs, Math.min(delay, LONGEST_ASKED_MS)) : delay
  return Math.min(Math.round(now + wait), end)
}

/** Recipients who were put off until the message is given up are refused. */
function recipientsAfter({ taken, later, refused }: Recipients, nextAt: number | null) {
  if (nextAt === null) return { recipients: { taken, refused: [...refused, ...later] } }
  return {
    recipients: { taken, refused },
    ...(later.length > 0 && { left: later.map(({ address }) => address) }),
  }
}
