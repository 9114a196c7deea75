/** Shares of a token's life, 0 to 1. */
export interface RefreshSettings {
  /** From here on a refresh is tried, once. */
  refreshFrom: number
  /** From here on it must succeed: tried again and again. */
  refreshBy: number
}

export interface TokenTimes {
  /** When the request was sent that brought the token, ms: the provider can only count from a later moment. */
  obtainedAt: number
  expiresAt: number
}

/** Clocks of several machines may differ by so much; a moment further in the future than that is a clock that was set back. */
export const CLOCK_SLACK_MS = 5_000

/** An account that was imported has a refresh token alone: both times are 0 until its first refresh. */
export function hasNoTokenYet({ expiresAt }: TokenTimes): boolean {
  return expiresAt === 0
}

export interface RefreshPlan {
  /** The moment to refresh: between the two shares, the same share for an account every time. */
  dueAt: number
  /** From here on a refresh that fails is tried again until it works; before it there is one try. */
  lateAt: number
}

export function planRefresh(hubId: number, times: TokenTimes, settings: RefreshSettings): RefreshPlan {
  const life = times.expiresAt - times.obtainedAt
  const window = settings.refreshBy - settings.refreshFrom
  return {
    dueAt: Math.floor(times.obtainedAt + life * (settings.refreshFrom + window * shareOf(hubId))),
    lateAt: Math.floor(times.obtainedAt + life * settings.refreshBy),
  }
}

/**
 * A number from 0 to below 1 that is always the same for an account and evenly spread over accounts, so that those
 * connected in the same second are not refreshed in the same second. (The finaliser of MurmurHash3.)
 */
export function shareOf(hubId: number): number {
  let h = (hubId ^ Math.floor(hubId / 2 ** 32)) >>> 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return ((h ^ (h >>> 16)) >>> 0) / 2 ** 32
}
