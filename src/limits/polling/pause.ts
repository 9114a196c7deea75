import type { CrmResult } from '../../provider/failure.ts'

/** Of the account's bucket: what is left below this share is for the app itself, which draws from it too. */
const LEFT_FOR_THE_APP = 0.2

/** The window of the provider's usual rate limit, for a refusal that doesn't tell. */
const UNTOLD_MS = 10_000

/** A bucket that is filled once a day is not waited for: the next poll looks again. */
const LONGEST_FOR_THE_APP_MS = 60_000

/** Until when an answer keeps everybody from calling for its account, ms since 1970; undefined if it doesn't. */
export function pausedUntil(result: CrmResult<unknown>, now: number): number | undefined {
  return laterOf(told(result, now), nearlyUsedUp(result, now))
}

/** The provider's word: too many calls, or stay away for so long. */
function told(result: CrmResult<unknown>, now: number): number | undefined {
  if (result.ok) return undefined
  const { class: kind, status, retryAfterMs } = result.failure
  if (status === 429) return now + (retryAfterMs ?? UNTOLD_MS)
  const awaits = retryAfterMs !== undefined && (kind === 'transient' || kind === 'parked')
  return awaits ? now + retryAfterMs : undefined
}

function nearlyUsedUp({ bucket }: CrmResult<unknown>, now: number): number | undefined {
  if (bucket === undefined || bucket.remaining >= bucket.max * LEFT_FOR_THE_APP) return undefined
  return now + Math.min(bucket.intervalMs, LONGEST_FOR_THE_APP_MS)
}

function laterOf(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.max(one, other)
}
