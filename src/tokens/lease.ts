import type { Store } from '../redis/connect.ts'
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

export const REFRESH_LEASE: LeaseLimits = { shortestMs: 2_000, longestMs: 15_000 }

export function newLeaseOwner(): string {
  return freshBytes(12).toString('base64url')
}

/** Keeps the lease alive until the returned function is called. */
export function keepLease(store: Store, key: string, owner: string, leaseMs: number): () => void {
  const renewal = setInterval(() => {
    // Failing to renew is handled where it matters, at the fenced write.
    store.renewLease(key, owner, leaseMs).catch(() => undefined)
  }, leaseMs / 3)
  return () => clearInterval(renewal)
}
