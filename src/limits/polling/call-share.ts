/**
 * Plimsoll's own share of an account's bucket at the provider: the vendor's product lives off the same bucket. Only who has
 * the account's claim calls for it, so the last calls are kept in its watch.
 */
export interface ShareSettings {
  requests: number
  perMs: number
}

/** Calls of an account's last polls, the oldest first: when the last of each was answered, ms, and how many count from then. No more polls than calls of its share. */
export type CallsMade = readonly (readonly [at: number, calls: number])[]

/**
 * True where a call that was answered `at` counts at `now`. A moment further ahead than daemons' clocks differ comes
 * from before a clock was set back: no poll waits for it.
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
  const made = [...(before ?? []), ...own.map((at) => [at, 1] as const)].filter(([at]) => counts(at, now, share))
  const inAll = made.reduce((sum, [, calls]) => sum + calls, 0)
  if (inAll < requests) return { granted: requests - inAll, waitMs: 0 }
  // Until so many have fallen out of the window that one more fits.
  let left = inAll
  for (const [at, calls] of made.toSorted(([a], [b]) => a - b)) {
    left -= calls
    if (left < requests) return { granted: 0, waitMs: Math.max(1, at + perMs - now) }
  }
  return { granted: 0, waitMs: perMs }
}

/** Calls before the next poll that it counts. */
export function callsAfter(
  share: ShareSettings,
  before: CallsMade | undefined,
  own: readonly number[],
): CallsMade | undefined {
  const last = own.at(-1)
  if (last === undefined) return before
  const calls = own.filter((at) => counts(at, last, share)).length
  return [...(before ?? []).filter(([at]) => counts(at, last, share)), [last, calls]]
}
