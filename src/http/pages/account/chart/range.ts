const HOUR = 3_600_000
const DAY = 24 * HOUR

/** How far back a chart reaches, and of how long a stretch it shows one point; 0 = each change. */
export const RANGES = {
  '24h': { ms: DAY, slotMs: 0, says: 'in 24 hours' },
  '7d': { ms: 7 * DAY, slotMs: 0, says: 'in 7 days' },
  '30d': { ms: 30 * DAY, slotMs: HOUR, says: 'in 30 days' },
  '90d': { ms: 90 * DAY, slotMs: 6 * HOUR, says: 'in 90 days' },
  '1y': { ms: 365 * DAY, slotMs: DAY, says: 'in a year' },
} as const satisfies Record<string, { ms: number; slotMs: number; says: string }>

export type RangeName = keyof typeof RANGES
export const RANGE_NAMES = Object.keys(RANGES) as RangeName[]

const LONGEST_USUAL: RangeName = '30d'

/**
 * Of a chart that nobody chose a range for: the shortest that has all there is, so that an account of this morning is not
 * a line at the edge.
 *
 * @param since when the account was read first, as far as is known, ms
 */
export function usualRange(since: number | undefined, now: number): RangeName {
  const age = now - (since ?? now)
  return RANGE_NAMES.find((name) => name === LONGEST_USUAL || age <= RANGES[name].ms) ?? LONGEST_USUAL
}
