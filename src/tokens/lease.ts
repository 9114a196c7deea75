import type { Store } from '../redis/connect.ts'
import type { Clock } from '../runtime/clock.ts'
import { freshBytes } from '../runtime/fresh-bytes.ts'

/**
 * The right to refresh one account, held by one worker at a time. It is short, so that a dead worker's ends while there
 * is still time to refresh, and renewed while a slow answer is waited for. Losing it is no disaster: every write is
 * checked against the generation of the tokens.
 */
export interface LeaseLimits {
  shortestMs: number
  longestMs: number
}

export const REFRESH_LEASE: LeaseLimits = { shortestMs: 1_000, longestMs: 15_000 }

export function newLeaseOwner(): string {
  return freshBytes(12).toString('base64url')
}

export interface Lease {
  /** Whether it is sure to be held still: false once it was lost, or could not be renewed in time. */
  isHeld(): boolean
  /** Renews it no more. */
  end(): void
}

/** Keeps a lease alive until it is ended; `sinceTaken` counts from when it was asked for. */
export function keepLease(
  store: Store,
  clock: Clock,
  lease: { key: string; owner: string; ms: number },
  sinceTaken: () => number,
): Lease {
  let since = sinceTaken
  let isLost = false
  const renew = async () => {
    const sinceAsked = clock.stopwatch()
    // Redis may be away: then nothing is known, and it ends when it would have.
    const renewed = await store.renewLease(lease.key, lease.owner, lease.ms).catch(() => undefined)
    if (renewed === 1) since = sinceAsked
    if (renewed === 0) isLost = true
  }
  const end = clock.every(lease.ms / 3, renew)
  return { isHeld: () => !isLost && since() < lease.ms, end }
}
