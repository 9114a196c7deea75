import type { CrmResult } from './failure.ts'

/** What the calls of one poll have shown of their account's bucket. */
export interface BucketUse {
  /** Calls used of how many, by the last answer that had the headers. Another moment may have had more. */
  lastSeen?: { used: number; of: number; intervalMs: number }
  /** Calls that were refused with 429. */
  refused: number
}

export const NOTHING_USED: BucketUse = { refused: 0 }

/** The same after one more call. */
export function useAfter({ lastSeen, refused }: BucketUse, result: CrmResult<unknown>): BucketUse {
  const { bucket } = result
  const seen = bucket && { used: bucket.max - bucket.remaining, of: bucket.max, intervalMs: bucket.intervalMs }
  const latest = seen ?? lastSeen
  const wasRefused = !result.ok && result.failure.status === 429
  return { ...(latest && { lastSeen: latest }), refused: refused + (wasRefused ? 1 : 0) }
}
