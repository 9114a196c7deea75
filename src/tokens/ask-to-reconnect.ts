/** An account that must reconnect. Times are ms. */
export interface LostAccount {
  /** Since when its refresh token is refused. */
  since: number
  /** A route sends its contact the alert about it, or did. */
  isSentAlert: boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS

/** So many that are lost within an hour, or this share of all where that is more, may be our fault. */
const LEAST_MASS = 5
const MASS_SHARE = 0.01

/**
 * Least time between two mails of an account, ms; undefined: none now. Every day in the first week, every week after that.
 * Accounts that were lost with many others wait for a day, in which operators can find the cause.
 */
export function reconnectMailEvery(
  { since, isSentAlert }: LostAccount,
  { lost, accounts, now }: { lost: readonly Pick<LostAccount, 'since'>[]; accounts: number; now: number },
): number | undefined {
  const isFirstDay = now - since < DAY_MS
  if (isFirstDay && isSentAlert) return undefined
  const together = lost.filter((other) => Math.abs(other.since - since) <= HOUR_MS).length
  if (isFirstDay && together >= Math.max(LEAST_MASS, accounts * MASS_SHARE)) return undefined
  return now - since < WEEK_MS ? DAY_MS : WEEK_MS
}
