import type { ProviderFailure } from '../../provider/failure.ts'
import {
  type Breaker,
  breakerAfterFailure,
  breakerAfterSuccesses,
  closedBreaker,
  probeNow,
  settle,
  takeProbe,
} from './breaker.ts'
import { afterRefusal, afterSuccesses, giveBack, newPace, nextPermitAt, type Pace, refill, take } from './pace.ts'
import { afterCalls, newBudget, type RetryBudget } from './retry-budget.ts'

/** What all daemons know together of the provider's token endpoint: one small document in Redis. */
export interface EndpointState {
  pace: Pace
  breaker: Breaker
  budget: RetryBudget
  /** The provider gives another refresh token with a refresh, and ends the old one. Seen once, believed for good. */
  rotates: boolean
  /** How far the provider's clock is ahead of ours, ms: of the daemons' the furthest off, null = never seen. */
  skewMs: number | null
  /** When that was seen last, ms. */
  skewAt: number
  /** How many accounts there are. */
  fleet: number
  /** States of the fleet's alerts as the alerts room writes them, '' = none. */
  alerts: Record<EndpointTrouble, string>
}

/** What the fleet as a whole can suffer from at the token endpoint. */
export type EndpointTrouble = 'token-endpoint' | 'clock'

/** What one daemon has seen since its last report. */
export interface Report {
  /** In order: a number of successes, or a failure. */
  outcomes: (number | { hubId: number; failure: ProviderFailure; isNew?: boolean })[]
  /** Calls to the other endpoints. */
  others: { worked: number; failed: number }
  /** A refresh brought another refresh token. */
  rotated: boolean
  skewMs: number | undefined
  fleet: number | undefined
  /** Permits that it had been given and gives back. */
  unused: number
  /** The daemon was just started, or given another config. */
  started: boolean
}

export interface EndpointSettings {
  /** Calls a second that are never exceeded, whatever the provider would allow. */
  mostPerSecond: number
  /** Errors as a share of all calls that retries must not push it over, 0 to 1. */
  errorCeiling: number
}

export function newState(settings: EndpointSettings, now: number): EndpointState {
  return {
    ...{ pace: newPace(settings.mostPerSecond, now), breaker: closedBreaker(), budget: newBudget(now) },
    ...{ rotates: false, skewMs: null, skewAt: 0, fleet: 0, alerts: { 'token-endpoint': '', clock: '' } },
  }
}

const SKEW_KEPT_MS = 600_000

export function emptyReport(): Report {
  return {
    ...{ outcomes: [], others: { worked: 0, failed: 0 }, rotated: false, skewMs: undefined, fleet: undefined },
    ...{ unused: 0, started: false },
  }
}

/** The state after a daemon's report. */
export function afterReport(
  before: EndpointState,
  report: Report,
  settings: EndpointSettings,
  now: number,
): EndpointState {
  const fleet = report.fleet ?? before.fleet
  let pace = refill(giveBack(before.pace, report.unused), settings.mostPerSecond, now)
  let breaker = report.started ? probeNow(before.breaker, now) : before.breaker
  let { worked, failed } = report.others
  for (const outcome of report.outcomes) {
    if (typeof outcome === 'number') {
      worked += outcome
      pace = afterSuccesses(pace, outcome, settings.mostPerSecond, now)
      breaker = breakerAfterSuccesses(breaker, outcome, now)
    } else {
      const { hubId, failure, isNew } = outcome
      failed++
      if (failure.status === 429) pace = afterRefusal(pace, failure.retryAfterMs, now)
      breaker = breakerAfterFailure(breaker, hubId, failure, fleet, now, isNew)
    }
  }
  breaker = settle(breaker, now)
  // Out of a trouble it goes slowly, as from quiet.
  if (before.breaker.is === 'open' && breaker.is !== 'open') pace = slowly(pace, settings, now)
  return {
    ...{ pace, breaker, fleet },
    budget: afterCalls(before.budget, { worked, failed }, settings.errorCeiling, now),
    rotates: before.rotates || report.rotated,
    ...skewAfter(before, report.skewMs, now),
    alerts: before.alerts,
  }
}

/** Daemons on several machines may disagree: one that is right must not end the alert about one that is wrong. */
function skewAfter(before: EndpointState, skewMs: number | undefined, now: number) {
  const { skewAt } = before
  const isStale = now < skewAt || now - skewAt > SKEW_KEPT_MS
  const takesOver = skewMs !== undefined && (isStale || Math.abs(skewMs) >= Math.abs(before.skewMs ?? 0))
  return takesOver ? { skewMs, skewAt: now } : { skewMs: before.skewMs, skewAt }
}

function slowly(pace: Pace, settings: EndpointSettings, now: number): Pace {
  const { perSecond, permits } = newPace(settings.mostPerSecond, now)
  return { ...pace, perSecond: Math.min(pace.ceiling, perSecond), permits: Math.min(pace.permits, permits) }
}

/** Lets up to `wanted` calls through; `until` is when to ask again if that was none. */
export function grant(
  state: EndpointState,
  wanted: number,
  now: number,
): { state: EndpointState; granted: number; until: number } {
  if (state.breaker.is === 'open') {
    if (wanted === 0) return { state, granted: 0, until: state.breaker.probeAt }
    const { breaker, granted } = takeProbe(state.breaker, now)
    return { state: { ...state, breaker }, granted, until: breaker.probeAt }
  }
  const { pace, granted } = take(state.pace, wanted)
  return { state: { ...state, pace }, granted, until: nextPermitAt(pace) }
}

/** Moves on with the shape: what another version has learnt is learnt anew. */
const SHAPE = 1

export function encodeEndpoint(state: EndpointState): string {
  return JSON.stringify({ shape: SHAPE, ...state })
}

/** Undefined for what is none, or was written by another version: no word of it may stop the refreshes. */
export function decodeEndpoint(stored: string): EndpointState | undefined {
  try {
    const { shape, ...state } = JSON.parse(stored) as EndpointState & { shape: number }
    return shape === SHAPE && isLike(state, ANY_STATE) && isWhole(state) ? state : undefined
  } catch {
    return undefined
  }
}

const ANY_STATE = newState({ mostPerSecond: 1, errorCeiling: 0 }, 0)

/** Of the same kind, field by field; what is null in `like` is seen to by `isWhole`. */
function isLike(value: unknown, like: unknown): boolean {
  if (like === null) return true
  if (typeof like !== 'object') return typeof value === typeof like
  if (Array.isArray(like)) return Array.isArray(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(like).every(([name, part]) => isLike((value as Record<string, unknown>)[name], part))
}

function isWhole({ pace, breaker, skewMs }: EndpointState): boolean {
  const isPair = (suspect: unknown) => Array.isArray(suspect) && suspect.length === 2 && suspect.every(Number.isFinite)
  return (
    ['closed', 'open', 'half-open'].includes(breaker.is) &&
    (breaker.is === 'closed') === (breaker.cause === null) &&
    (breaker.cause === null || Object.hasOwn(breaker.suspects, breaker.cause)) &&
    Object.values(breaker.suspects).every((suspects) => suspects.every(isPair)) &&
    pace.recent.every(Number.isFinite) &&
    [pace.knownLimit, skewMs].every((number) => number === null || Number.isFinite(number))
  )
}

/** A report that did not get through goes along with the next one. */
export function joinedReports(first: Report, second: Report): Report {
  return {
    outcomes: [...first.outcomes, ...second.outcomes],
    others: {
      worked: first.others.worked + second.others.worked,
      failed: first.others.failed + second.others.failed,
    },
    unused: first.unused + second.unused,
    rotated: first.rotated || second.rotated,
    skewMs: second.skewMs ?? first.skewMs,
    fleet: second.fleet ?? first.fleet,
    started: first.started || second.started,
  }
}
