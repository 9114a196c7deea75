const SECOND_MS = 1_000
/** More is not believed. */
export const LONGEST_RETRY_AFTER_MS = 24 * 3_600_000

/**
 * `Retry-After` (RFC 9110, 10.2.3), seconds or an HTTP date, as ms from now; held between a second and a day: neither a
 * busy loop nor an endless wait. Undefined for what is neither.
 */
export function retryAfterMs(value: string | string[] | undefined, now: number): number | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  const wait = /^\d+$/.test(text) ? Number(text) * SECOND_MS : isHttpDate(text) ? Date.parse(text) - now : Number.NaN
  return Number.isNaN(wait) ? undefined : Math.min(Math.max(wait, SECOND_MS), LONGEST_RETRY_AFTER_MS)
}

/** `Date.parse` alone takes nearly anything, such as "-1", for a date. */
function isHttpDate(text: string): boolean {
  return /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)
}
