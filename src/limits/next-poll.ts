import type { ProviderFailure } from '../provider/failure.ts'
import { shareOf } from '../tokens/plan-refresh.ts'

/** When to poll next, after a poll that began at `at`. `everyMs` is the longest that an account may wait. */
export function nextPollAt(hubId: number, at: number, everyMs: number, firstPoll: boolean): number {
  // Accounts that were connected together must not be polled together for ever: each gets a phase of its own.
  return at + (firstPoll ? everyMs * (0.5 + 0.5 * shareOf(hubId)) : everyMs)
}

/**
 * After a poll of which nothing, or not all, could be read. `mayRetry`: the share of errors allows for a call that
 * follows a failure; otherwise the account waits for its regular turn.
 */
export function retryPollAt(
  failures: readonly ProviderFailure[],
  count: number,
  now: number,
  everyMs: number,
  mayRetry: boolean,
): number {
  const told = Math.max(0, ...failures.map((failure) => failure.retryAfterMs ?? 0))
  if (told > 0) return now + told
  // A missing scope is not granted in the next minute.
  if (!mayRetry || !failures.some((failure) => failure.class === 'transient')) return now + everyMs
  return now + Math.min(everyMs, 5_000 * 2 ** Math.min(count, 12))
}
