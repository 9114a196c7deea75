import * as z from 'zod'
import type { ProviderFailure } from '../../provider/failure.ts'
import * as breaker from './breaker.ts'
import * as pace from './pace.ts'

const MOST = 1_000
const AT_FIRST = 100
const TRICKLE_EVERY_MS = 5_000

/**
 * How many calls that follow a failure may be made, so that errors stay below a share of all calls (providers ask that
 * of listed apps; the certification is the vendor's to lose). Every success earns a fraction of a retry, every error
 * costs one. A trickle is always allowed: what failed must be able to come back.
 */
export const budgetSchema = z.strictObject({
  /** Retries that may be made. */
  credit: z.number().default(AT_FIRST),
  /** Up to when the trickle was given, ms. */
  at: z.number(),
})

export type RetryBudget = z.infer<typeof budgetSchema>

/** Moves on with the shape: a version learns anew, and reads no state of another one. */
const SHAPE = 1
const SKEW_KEPT_MS = 600_000
/** While the breaker is open a code is worth sending again after so long. */
const HELD_MS = 30_000

/** The common state of all daemons about the provider's token endpoint: one small document in Redis. */
const stateSchema = z.object({
  shape: z.literal(SHAPE).default(SHAPE),
  pace: pace.paceSchema,
  breaker: breaker.breakerSchema.refine(({ is, cause }) => (is === 'closed') === (cause === null)),
  budget: budgetSchema,
  /** The provider gives another refresh token with a refresh, and ends the old one. Seen once, believed for good. */
  rotates: z.boolean().default(false),
  /** How far the provider's clock is ahead of ours, ms: of the daemons' the furthest off, null = never seen. */
  skewMs: z.number().nullable().default(null),
  /** When that was seen last, ms. */
  skewAt: z.number().default(0),
  /** The machine of that clock, as it names itself; null = not known. */
  skewOf: z.string().nullable().default(null),
  /** How many accounts there are. */
  fleet: z.number().default(0),
})

export type EndpointState = z.infer<typeof stateSchema>

export interface EndpointSettings {
  /** Calls a second that are never exceeded, even if the provider would allow more. */
  mostPerSecond: number
  /** Errors as a share of all calls that retries must not push it over, 0 to 1. */
  errorCeiling: number
}

/** The provider's 429s decide; this only bounds what is asked before the first one. Of a million accounts it refreshes each within four minutes. */
export const ENDPOINT_SETTINGS: EndpointSettings = { mostPerSecond: 5_000, errorCeiling: 0.05 }

/** One observation of a daemon: its report is a list of these, in their order. */
export interface Seen {
  /** Refreshes that worked. */
  worked?: number
  failed?: breaker.FailedCall
  /** The outcome of a code of an install. */
  code?: 'worked' | ProviderFailure
  /** Calls to the other endpoints. */
  others?: { worked: number; failed: number }
  /** A refresh brought another refresh token. */
  rotated?: true
  /** How far the provider's clock is ahead of this machine's. */
  clock?: { skewMs: number; machine: string }
  fleet?: number
  /** Permits that it had been given and gives back. */
  unused?: number
  /** The daemon was just started, or given another config. */
  started?: true
}

export function newState({ mostPerSecond }: EndpointSettings, now: number): EndpointState {
  return stateSchema.parse({ pace: pace.newPace(mostPerSecond, now), breaker: {}, budget: { at: now } })
}

/** The state after a daemon's report. */
export function afterReport(
  before: EndpointState,
  report: readonly Seen[],
  { mostPerSecond, errorCeiling }: EndpointSettings,
  now: number,
): EndpointState {
  const state = { ...before, pace: pace.refillPermits(before.pace, mostPerSecond, now) }
  const calls = { worked: 0, failed: 0 }
  for (const seen of report) {
    const { worked = 0, failed, others, rotated, clock, fleet, started } = seen
    calls.worked += worked + (others?.worked ?? 0)
    calls.failed += (failed === undefined ? 0 : 1) + (others?.failed ?? 0)
    state.fleet = fleet ?? state.fleet
    state.rotates ||= rotated === true
    if (clock !== undefined) Object.assign(state, skewAfter(state, clock, now))
    state.pace = paceAfter(state.pace, seen, mostPerSecond, now)
    if (started) state.breaker = breaker.probeNow(state.breaker, now)
    state.breaker = breaker.noteSuccesses(state.breaker, worked, now)
    if (failed !== undefined) state.breaker = breaker.noteFailure(state.breaker, failed, state.fleet, now)
  }
  state.breaker = breaker.settle(state.breaker, now)
  state.budget = afterCalls(before.budget, calls, errorCeiling, now)
  // Out of a trouble it goes slowly, as from quiet.
  if (before.breaker.is === 'open' && state.breaker.is !== 'open') state.pace = pace.slowed(state.pace)
  return state
}

/** Strangers send codes: only the pace learns from them, and no account pays for them with its retries. */
function paceAfter(before: pace.Pace, { worked = 0, failed, code, unused = 0 }: Seen, most: number, now: number) {
  if (unused > 0) return pace.refillPermits({ ...before, permits: before.permits + unused }, most, now)
  if (code === 'worked') return pace.afterSuccesses(before, 1, most, now)
  const { status, retryAfterMs } = failed?.failure ?? code ?? { status: 0 }
  if (status === 429) return pace.afterRefusal(before, retryAfterMs, now)
  // The provider checked the code, and so let the call through.
  if (code !== undefined && status >= 400 && status < 500) return pace.counted(before, 1, now)
  return pace.afterSuccesses(before, worked, most, now)
}

/**
 * Machines may disagree: one that is right must not end the alert about another that is wrong. That one ends it itself, with
 * the first answer after its clock was set.
 */
function skewAfter(before: EndpointState, { skewMs, machine }: NonNullable<Seen['clock']>, now: number) {
  const isStale = now < before.skewAt || now - before.skewAt > SKEW_KEPT_MS
  const isFurther = Math.abs(skewMs) >= Math.abs(before.skewMs ?? 0)
  return isStale || isFurther || machine === before.skewOf ? { skewMs, skewAt: now, skewOf: machine } : undefined
}

/** Lets calls through, up to as many as are wanted; while the breaker is open one refresh at a time, to see. */
export function grant(
  before: EndpointState,
  wanted: pace.Calls,
  now: number,
): { state: EndpointState; granted: pace.Calls } {
  const isOpen = before.breaker.is === 'open'
  const probe = isOpen && wanted.refreshes > 0 ? breaker.takeProbe(before.breaker, now) : undefined
  const state = { ...before, breaker: probe?.breaker ?? before.breaker }
  const refreshes = isOpen ? 0 : wanted.refreshes
  const codes = breaker.holdsCodes(state.breaker, now) ? 0 : wanted.codes
  const { pace: left, granted } = pace.take(before.pace, { refreshes, codes })
  return { state: { ...state, pace: left }, granted: { ...granted, refreshes: probe?.granted ?? granted.refreshes } }
}

/** When it is worth asking for the next refresh, ms. */
export function refreshAt(state: EndpointState): number {
  return state.breaker.is === 'open' ? state.breaker.probeAt : pace.nextAt(state.pace, 'permits', 1)
}

/** When the code that is the `nth` in line is let through, about, ms. */
export function codeAt(state: EndpointState, nth: number, now: number): number {
  const at = pace.nextAt(state.pace, 'codes', nth)
  return breaker.holdsCodes(state.breaker, now) ? Math.max(at, now + HELD_MS) : at
}

/** After so long without a 429 the endpoint keeps no refresh waiting. */
const THROTTLING_MS = 300_000

export function isThrottling({ pace: { refusedAt } }: EndpointState, now: number): boolean {
  return refusedAt > 0 && now - refusedAt < THROTTLING_MS
}

/** One or two tokens that are over are the trouble of their accounts. */
const LEAST_LATE = 3

/**
 * Tokens of accounts that work are over, because the endpoint lets too few refreshes through. `isAlerted`: then it is over once no
 * token is.
 */
export function letsTooFewThrough({ late, kept }: { late: number; kept: number }, isAlerted: boolean): boolean {
  return late > 0 && (isAlerted || late >= Math.min(LEAST_LATE, kept))
}

/** Undefined for no text, and for a text of another version: neither may stop the refreshes. */
export function decodeEndpoint(stored: string): EndpointState | undefined {
  try {
    return stateSchema.parse(JSON.parse(stored))
  } catch {
    return undefined
  }
}

/** `ceiling`: errors as a share of all calls, 0 to 1. */
export function afterCalls(
  budget: RetryBudget,
  { worked, failed }: { worked: number; failed: number },
  ceiling: number,
  now: number,
): RetryBudget {
  const earned = (worked * ceiling) / (1 - ceiling)
  const spent = Math.max(0, Math.min(MOST, budget.credit + earned) - failed)
  const isTrickle = now - budget.at >= TRICKLE_EVERY_MS
  // The trickle fills an empty purse only: it is no income.
  return isTrickle ? { credit: Math.max(spent, 1), at: now } : { credit: spent, at: Math.min(budget.at, now) }
}
