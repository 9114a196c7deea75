/**
 * Plimsoll's own share of an account's bucket at the provider: the vendor's product lives off the same bucket. Only who has
 * the account's claim calls for it, so the last calls are kept in its watch.
 */
export interface ShareSettings {
  requests: number
  perMs: number
}

/** Calls of an account's last poll: when the last of them was answered, ms, and how many count from then. */
export type CallsMade = readonly [at: number, calls: number]

/**
 * Whether a call that was answered `at` counts at `now`. What lies further ahead than daemons' clocks differ is from before a
 * clock was set back: nobody waits for it.
 */
function counts(at: number, now: number, { perMs }: ShareSettings): boolean {
  return at + perMs > now && at - now <= perMs
}

/** How many calls may be made at `now`, and if none, in how many ms one may. `own`: when those of this poll were answered. */
export function shareLeft(
  share: ShareSettings,
  before: CallsMade | undefined,
  own: readonly number[],
  now: number,
): { granted: number; waitMs: number } {
  const { requests, perMs } = share
  const earlier = before !== undefined && counts(before[0], now, share) ? before : undefined
  const made = own.filter((at) => counts(at, now, share))
  const granted = requests - made.length - (earlier?.[1] ?? 0)
  if (granted > 0) return { granted, waitMs: 0 }
  const oldest = Math.min(...made, earlier?.[0] ?? Number.POSITIVE_INFINITY)
  return { granted: 0, waitMs: Math.max(1, oldest + perMs - now) }
}

/** What the next poll counts of the calls before it. */
export function callsAfter(
  share: ShareSettings,
  before: CallsMade | undefined,
  own: readonly number[],
): CallsMade | undefined {
  const last = own.at(-1)
  if (last === undefined) return before
  const earlier = before !== undefined && counts(before[0], last, share) ? before[1] : 0
  return [last, own.filter((at) => counts(at, last, share)).length + earlier]
}
