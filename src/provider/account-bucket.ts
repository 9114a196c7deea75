import type { HttpResponse } from './http.ts'

/**
 * The account's bucket of calls at the provider, as an answer's headers describe it: so many per interval, so many left.
 * All of the app's calls for the account draw from it, not only ours. Source: the provider's usage guidelines.
 */
export interface AccountBucket {
  intervalMs: number
  max: number
  remaining: number
}

const LONGEST_INTERVAL_MS = 24 * 3_600_000
const LARGEST_BUCKET = 1_000_000_000

/** Undefined unless all three headers are there and make sense together: nothing is decided by half of it. */
export function readAccountBucket(headers: HttpResponse['headers']): AccountBucket | undefined {
  const intervalMs = readWhole(headers['x-hubspot-ratelimit-interval-milliseconds'])
  const max = readWhole(headers['x-hubspot-ratelimit-max'])
  const remaining = readWhole(headers['x-hubspot-ratelimit-remaining'])
  if (intervalMs === undefined || max === undefined || remaining === undefined) return undefined
  if (intervalMs < 1 || intervalMs > LONGEST_INTERVAL_MS) return undefined
  if (max < 1 || max > LARGEST_BUCKET || remaining > max) return undefined
  return { intervalMs, max, remaining }
}

/** A header that came twice is a list, and is ignored. */
function readWhole(value: string | string[] | undefined): number | undefined {
  return typeof value === 'string' && /^\d{1,10}$/.test(value.trim()) ? Number(value) : undefined
}
