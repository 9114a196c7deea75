/** What is known of an account that must reconnect, ms. */
export interface LostAccount {
  /** Since when its refresh token is refused. */
  since: number
  /** Its contact is sent the alert about it by a route, or was. */
  isSentAlert: boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const WEEK_MS = 7 * DAY_MS

/** So many that are lost within an hour, or this share of all where that is more, may be our fault. */
const LEAST_MASS = 5
const MASS_SHARE = 0.01

/**
 * How long after the last one an account's next mail may be made, ms; undefined: none now. Every day in the first week, every
 * week after that. Accounts that were lost with many others wait for a day, in which operators can find out whose fault it is.
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
