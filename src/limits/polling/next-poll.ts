import type { ProviderFailure } from '../../provider/failure.ts'
import { shareOf } from '../../tokens/plan-refresh.ts'

/** The rest of the longest period is for the sweep that finds a due account, and for whoever stands before it. */
const LATEST_SHARE = 0.97

/**
 * How long after a poll an account's regular turn is, ms: a little less than `everyMs`, the longest that it may wait.
 * Accounts that are polled together must not be together for ever: each has a period of its own, and after a poll that
 * many may have had in common (`spread`: the first one, one that came early) a phase of its own.
 */
export function regularPeriod(hubId: number, everyMs: number, spread: boolean): number {
  const share = shareOf(hubId)
  // Whoever has the later phase has the longer period too: the other way round they would meet again.
  return everyMs * (spread ? 0.5 + (LATEST_SHARE - 0.5) * share : LATEST_SHARE - 0.03 * (1 - share))
}

/** What the provider told us to wait, ms: the longest of several; 0 = nothing. */
export function toldToWait(failures: readonly ProviderFailure[]): number {
  return Math.max(0, ...failures.map((failure) => failure.retryAfterMs ?? 0))
}

/**
 * How long after a poll that failed with `failures` the next one is worth a try, ms: sooner than the regular turn for
 * what may pass. Undefined where sooner would not help: a missing scope is not granted in the next minute.
 */
export function retryPause(failures: readonly ProviderFailure[], count: number, regularMs: number): number | undefined {
  if (!failures.some((failure) => failure.class === 'transient')) return undefined
  return Math.min(regularMs, 5_000 * 2 ** Math.min(count, 12))
}
