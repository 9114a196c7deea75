import { randomBytes } from 'node:crypto'

/** One draw from the system costs as much for a few bytes as for some thousands. */
const POOL_BYTES = 8_192

let pool = Buffer.alloc(0)
let used = 0

/**
 * A few unpredictable bytes for one caller: nonces, marks of claims. Each stretch of the pool is handed out once,
 * and an empty pool is replaced and never written over, so that bytes that a caller keeps do not change. Not for keys:
 * what is to come lies in memory beforehand.
 */
export function freshBytes(count: number): Buffer {
  if (used + count > pool.length) {
    pool = randomBytes(Math.max(POOL_BYTES, count))
    used = 0
  }
  used += count
  return pool.subarray(used - count, used)
}
