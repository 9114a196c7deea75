import type { AccountState } from '../redis/keys.ts'
import { APART_MS } from '../runtime/clock.ts'
import { LONGEST_RETRY_AFTER_MS } from '../runtime/retry-after.ts'

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

/** Longest from one attempt to the next, ms, while the token is over: a pause of `after-failure.ts`, or of the breaker. */
export const LONGEST_PAUSE_MS = 10 * 60_000
/** When an account is tried again whose refresh token waits for an operator's decision: a moment that never comes, and is its mark. */
export const NEVER_MS = 9_999_999_999_999
/** Longest until an account that must reconnect is probed again, ms. */
export const LONGEST_PROBE_MS = 27 * 3_600_000

/**
 * Latest moment that an account's next refresh may have, ms. One that is planned for later was planned before the clock of Redis
 * was set back, or by that of another server: it is due now.
 */
export function latestRefresh(state: AccountState, times: TokenTimes, now: number): number {
  if (state === 'reauthorize') return now + LONGEST_PROBE_MS
  if (state === 'parked') return now + LONGEST_RETRY_AFTER_MS
  if (times.obtainedAt <= now + APART_MS) return Math.max(now + LONGEST_PAUSE_MS, times.expiresAt)
  // How much of the token's life is left is not known then. An account that fails goes by its pauses.
  return state === 'active' ? now : now + LONGEST_PAUSE_MS
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
