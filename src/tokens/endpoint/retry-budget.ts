import * as z from 'zod'

const MOST = 1_000
const AT_FIRST = 100
const TRICKLE_EVERY_MS = 5_000

/**
 * How many calls that follow a failure may be made, so that errors stay below a share of all calls (providers ask that
 * of listed apps; the certification is the vendor's to lose). Every success earns a fraction of a retry, every error
 * costs one. A trickle is always allowed: what failed must be able to come back.
 */
export const budgetSchema = z.strictObject({
  /** Retries that may be made. */
  credit: z.number().default(AT_FIRST),
  /** Up to when the trickle was given, ms. */
  at: z.number(),
})

export type RetryBudget = z.infer<typeof budgetSchema>

/** `ceiling`: errors as a share of all calls, 0 to 1. */
export function afterCalls(
  budget: RetryBudget,
  { worked, failed }: { worked: number; failed: number },
  ceiling: number,
  now: number,
): RetryBudget {
  const earned = (worked * ceiling) / (1 - ceiling)
  const spent = Math.max(0, Math.min(MOST, budget.credit + earned) - failed)
  const isTrickle = now - budget.at >= TRICKLE_EVERY_MS
  // The trickle fills an empty purse only: it is no income.
  return isTrickle ? { credit: Math.max(spent, 1), at: now } : { credit: spent, at: Math.min(budget.at, now) }
}
