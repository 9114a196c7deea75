import { OTHER_DATA_CENTER, type ProviderFailure } from '../provider/failure.ts'
import type { AccountState } from '../redis/keys.ts'
import type { EndpointVerdict } from './endpoint/token-endpoint.ts'
import { hasNoTokenYet, LONGEST_PAUSE_MS, planRefresh, type RefreshSettings, type TokenTimes } from './plan-refresh.ts'
import type { Unopened } from './vault.ts'

/** The provider's, or our own: then the current token, or the one before it, was never sent. */
export type RefreshFailure = ProviderFailure | Unopened

/** True where the account is in another data center: it exists, and all its tokens are refused alike. */
export function isElsewhere({ code }: Pick<RefreshFailure, 'code'>): boolean {
  return code === OTHER_DATA_CENTER
}

/** Code of an answer that could not be read, and is kept: the refresh token is not sent again before an operator decides. */
export const UNREADABLE_ANSWER = 'unreadable-answer'

/** An account whose refresh failed. */
export interface FailedRefresh {
  hubId: number
  state: AccountState
  times: TokenTimes
  /** Failures in a row before this one that count: a 429 and trouble of all accounts don't, nor do others until `lateAt`. */
  failures: number
  /** When the refresh token was first refused, or null. */
  rejectedAt: number | null
  failure: RefreshFailure
  /** The state of the other accounts: whether their refreshes work. */
  standing: EndpointVerdict
}

type FailedCall = FailedRefresh & { failure: ProviderFailure }

export interface AfterFailure {
  state: AccountState
  refreshAt: number
  /** `never`: not until the account is well again. */
  pollAt: number | 'never' | 'unchanged'
  failures: number
  rejectedAt: number | null
  /** The alert: none, it fails for long, its customer must connect it again, or an operator must decide. */
  alert: 'none' | 'failing' | 'reauthorize' | typeof UNREADABLE_ANSWER
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** Failures in a row before an account that fails for long is an alert. */
const FAILURES_TO_TELL = 3

/**
 * Decides on the account after a failed refresh. Every account keeps a next moment in any case: one that must reconnect is
 * probed once a day, in case the refusal was the provider's mistake.
 */
export function afterFailure(
  failed: FailedRefresh,
  settings: RefreshSettings,
  now: number,
  random: number,
): AfterFailure {
  const failures = failed.failures + 1
  const unchanged: AfterFailure = {
    state: failed.state,
    refreshAt: now + backOff(failed.times, failures, random),
    pollAt: 'unchanged',
    failures,
    rejectedAt: failed.rejectedAt,
    alert: failsForLong(failed, failures, now) ? 'failing' : 'none',
  }
  if (failed.failure.code === UNREADABLE_ANSWER) {
    const state = failed.state === 'reauthorize' ? failed.state : 'failing'
    return { ...unchanged, state, refreshAt: now + LONGEST_PAUSE_MS, alert: UNREADABLE_ANSWER }
  }
  if (failed.state === 'reauthorize') return { ...unchanged, refreshAt: daily(now, random), alert: 'none' }
  const { failure } = failed
  if (failure.class === 'unopened') return { ...unchanged, state: 'failing' }
  const failedCall = { ...failed, failure }
  if (failure.class === 'parked') return { ...unchanged, ...parked(failedCall, now) }
  // Not this account's trouble: nothing is held against it, and its turn comes when the endpoint works again.
  if (failed.standing.fleetTrouble) {
    const refreshAt = Math.max(now, failed.standing.until) + Math.round(SECOND * random)
    return { ...unchanged, refreshAt, failures: failed.failures, alert: 'none' }
  }
  switch (failure.class) {
    case 'rejected':
      return { ...unchanged, ...rejected(failed, unchanged, now, random) }
    case 'transient':
      return { ...unchanged, ...transient(failedCall, unchanged, settings, now) }
    default:
      // The app is refused, not the account: the account's state is unchanged.
      return unchanged
  }
}

/** True where the token has been dead for a while: services that use it have noticed by now. */
function failsForLong({ times }: FailedRefresh, failures: number, now: number): boolean {
  return failures >= FAILURES_TO_TELL && now >= times.expiresAt + graceOf(times)
}

/** Until when to stay away from an account that moves to another data center. */
export function parkedUntil({ retryAfterMs }: Pick<ProviderFailure, 'retryAfterMs'>, now: number): number {
  return now + (retryAfterMs ?? HOUR)
}

function parked({ failure, times }: FailedCall, now: number): Partial<AfterFailure> {
  const until = parkedUntil(failure, now)
  const pollAt = hasNoTokenYet(times) ? 'unchanged' : until
  return { state: 'parked', refreshAt: until, pollAt, alert: until > times.expiresAt ? 'failing' : 'none' }
}

/**
 * A refused refresh token is believed when a second attempt, some time later, is refused too, and another account was refreshed
 * since the first: providers have answered so by mistake, so does a worker that lost a race, and so does an app whose
 * credentials are wrong. Where no other account is refreshed, a whole life of the token is waited for instead.
 */
function rejected(failed: FailedRefresh, base: AfterFailure, now: number, random: number): Partial<AfterFailure> {
  const { standing, times } = failed
  // Noted in the future: the clock was wrong then, and the doubt begins now.
  const rejectedAt = Math.min(failed.rejectedAt ?? now, now)
  const again = { state: 'failing' as const, rejectedAt }
  const confirmAt = rejectedAt + graceOf(times)
  if (now < confirmAt) return { ...again, refreshAt: confirmAt }
  const vouchedFor = standing.fleet <= 1 || standing.lastSuccessAt > rejectedAt
  const waitedFor = now - rejectedAt >= longestDoubt(times)
  if (!vouchedFor && !waitedFor) return { ...again, refreshAt: now + graceOf(times), alert: base.alert }
  return {
    state: 'reauthorize',
    refreshAt: daily(now, random),
    pollAt: 'never',
    rejectedAt,
    alert: 'reauthorize',
  }
}

function longestDoubt(times: TokenTimes): number {
  return clamp(life(times), 10 * SECOND, HOUR)
}

/** When a refused refresh token is believed at the latest, ms: by the first attempt after the doubt, if that is answered. */
export function confirmedBy(rejectedAt: number, times: TokenTimes): number {
  return rejectedAt + longestDoubt(times) + graceOf(times)
}

function transient(
  failed: FailedCall,
  base: AfterFailure,
  settings: RefreshSettings,
  now: number,
): Partial<AfterFailure> {
  const { lateAt } = planRefresh(failed.hubId, failed.times, settings)
  // A day would be the end of the token; a proxy that answers so answers the first caller so.
  const told = now + Math.min(failed.failure.retryAfterMs ?? 0, longestPause(failed.times))
  // One try in the early window; the token is still good.
  if (now < lateAt) return { refreshAt: Math.max(lateAt, told), failures: failed.failures }
  // Too many calls are the fault of all accounts, not of this one.
  if (failed.failure.status === 429) return { refreshAt: Math.max(base.refreshAt, told), failures: failed.failures }
  return { state: 'failing', refreshAt: Math.max(base.refreshAt, told) }
}

/** How long a refusal may last before it is believed: a tenth of the token's life, within reason. */
function graceOf(times: TokenTimes): number {
  return clamp(life(times) * 0.1, 2 * SECOND, 5 * MINUTE)
}

function daily(now: number, random: number): number {
  return now + 24 * HOUR * (0.9 + 0.2 * random)
}

/** 1 s, 2 s, 4 s ... up to a sixth of the token's life, at most five minutes; jittered. */
function backOff(times: TokenTimes, failures: number, random: number): number {
  const pause = Math.min(longestPause(times), SECOND * 2 ** Math.min(failures - 1, 20))
  return Math.round(pause * (0.75 + 0.5 * random))
}

function longestPause(times: TokenTimes): number {
  return clamp(life(times) / 6, 3 * SECOND, 5 * MINUTE)
}

/** Nothing hurries an account that has no token yet: the pauses are those of the provider's usual life. */
function life(times: TokenTimes): number {
  if (hasNoTokenYet(times)) return 30 * MINUTE
  return times.expiresAt - times.obtainedAt
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}
