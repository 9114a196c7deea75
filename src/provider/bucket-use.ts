import type { CrmResult } from './failure.ts'

/** Use of an account's bucket, as the calls of one poll have shown it. */
export interface BucketUse {
  /** Calls used of how many, by the last answer that had the headers. Another moment may have had more. */
  lastSeen?: { used: number; of: number; intervalMs: number }
  /** Calls that were refused with 429. */
  refused: number
}

/** The same as it is kept of an account: the calls as they were last seen, by its last poll or one before. */
export interface StoredBucketUse extends BucketUse {
  /** `at`: by the poll that began then, ms. */
  lastSeen?: NonNullable<BucketUse['lastSeen']> & { at: number }
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

/** The use to store after a poll that began at `at`; undefined: nothing is known. */
export function useToStore(
  before: StoredBucketUse | undefined,
  { lastSeen, refused }: BucketUse,
  at: number,
): StoredBucketUse | undefined {
  const seen = lastSeen === undefined ? before?.lastSeen : { ...lastSeen, at }
  return seen === undefined && refused === 0 ? undefined : { ...(seen && { lastSeen: seen }), refused }
}
