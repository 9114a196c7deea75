import type { ProviderFailure } from '../provider/failure.ts'
import type { AccountState } from '../redis/keys.ts'
import { hasNoTokenYet, planRefresh, type RefreshSettings, type TokenTimes } from './plan-refresh.ts'

/** What is known of an account when a refresh of it failed. */
export interface FailedRefresh {
  hubId: number
  state: AccountState
  times: TokenTimes
  /** Failures in a row before this one. */
  failures: number
  /** When the refresh token was first refused, or null. */
  rejectedAt: number | null
  failure: ProviderFailure
}

export interface NextStep {
  state: AccountState
  refreshAt: number
  /** `never`: not until the account is well again. */
  pollAt: number | 'never' | 'unchanged'
  failures: number
  rejectedAt: number | null
  /** True in the one step that finds out that the account must be authorised again. */
  reauthorize: boolean
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/**
 * What to do after a failed refresh. Every account keeps a next moment, whatever happens: one that waits to be
 * authorised again is probed once a day, in case the refusal was the provider's mistake.
 */
export function afterFailure(failed: FailedRefresh, settings: RefreshSettings, now: number, random: number): NextStep {
  const failures = failed.failures + 1
  const unchanged: NextStep = {
    state: failed.state,
    refreshAt: now + backOff(failed.times, failures, random),
    pollAt: 'unchanged',
    failures,
    rejectedAt: failed.rejectedAt,
    reauthorize: false,
  }
  if (failed.state === 'reauthorize') return { ...unchanged, refreshAt: now + 24 * HOUR * (0.9 + 0.2 * random) }
  switch (failed.failure.class) {
    case 'parked':
      return { ...unchanged, ...parked(failed, now) }
    case 'rejected':
      return { ...unchanged, ...rejected(failed, now, random) }
    case 'client':
      // The app is refused, not the account: its state says nothing about that.
      return unchanged
    default:
      return { ...unchanged, ...transient(failed, unchanged, settings, now) }
  }
}

function parked({ failure, times }: FailedRefresh, now: number): Partial<NextStep> {
  const until = now + (failure.retryAfterMs ?? HOUR)
  return { state: 'parked', refreshAt: until, pollAt: hasNoTokenYet(times) ? 'unchanged' : until }
}

/**
 * A refused refresh token is believed when a second attempt, some time later, is refused too: providers have answered
 * so by mistake, and so does a worker that lost a race.
 */
function rejected(failed: FailedRefresh, now: number, random: number): Partial<NextStep> {
  const confirmAfter = clamp(life(failed.times) * 0.1, 2 * SECOND, 5 * MINUTE)
  const rejectedAt = failed.rejectedAt ?? now
  if (now - rejectedAt < confirmAfter) return { state: 'failing', refreshAt: rejectedAt + confirmAfter, rejectedAt }
  return {
    state: 'reauthorize',
    refreshAt: now + 24 * HOUR * (0.9 + 0.2 * random),
    pollAt: 'never',
    rejectedAt,
    reauthorize: true,
  }
}

function transient(failed: FailedRefresh, base: NextStep, settings: RefreshSettings, now: number): Partial<NextStep> {
  const { lateAt } = planRefresh(failed.hubId, failed.times, settings)
  const told = now + (failed.failure.retryAfterMs ?? 0)
  // One try in the early window; the token is still good.
  if (now < lateAt) return { refreshAt: Math.max(lateAt, told), failures: failed.failures }
  return { state: 'failing', refreshAt: Math.max(base.refreshAt, told) }
}

/** 1 s, 2 s, 4 s ... up to a sixth of the token's life, at most five minutes; jittered. */
function backOff(times: TokenTimes, failures: number, random: number): number {
  const cap = clamp(life(times) / 6, 3 * SECOND, 5 * MINUTE)
  return Math.round(Math.min(cap, SECOND * 2 ** Math.min(failures - 1, 20)) * (0.75 + 0.5 * random))
}

/** Nothing hurries an account that has no token yet: the pauses are those of the provider's usual life. */
function life(times: TokenTimes): number {
  if (hasNoTokenYet(times)) return 30 * MINUTE
  return times.expiresAt - times.obtainedAt
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}
