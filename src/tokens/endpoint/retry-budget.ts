/**
 * How many calls that follow a failure may be made, so that errors stay below a share of all calls (providers ask that
 * of listed apps; the certification is the vendor's to lose). Every success earns a fraction of a retry, every error
 * costs one. A trickle is always allowed: what failed must be able to come back.
 */
export interface RetryBudget {
  /** Retries that may be made. */
  credit: number
  /** Up to when the trickle was given, ms. */
  at: number
}

const MOST = 1_000
const AT_FIRST = 100
const TRICKLE_EVERY_MS = 5_000

export function newBudget(now: number): RetryBudget {
  return { credit: AT_FIRST, at: now }
}

/** `ceiling`: errors as a share of all calls, 0 to 1. */
export function afterCalls(
  budget: RetryBudget,
  { worked, failed }: { worked: number; failed: number },
  ceiling: number,
  now: number,
): RetryBudget {
  const earned = (worked * ceiling) / (1 - ceiling)
  const spent = Math.max(0, Math.min(MOST, budget.credit + earned) - failed)
  const drops = Math.floor(Math.max(0, now - budget.at) / TRICKLE_EVERY_MS)
  // The trickle fills an empty purse only: it is no income.
  return { credit: drops > 0 ? Math.max(spent, 1) : spent, at: drops > 0 ? now : Math.min(budget.at, now) }
}
