import * as z from 'zod'
import type { ProviderFailure } from '../../provider/failure.ts'
import * as breaker from './breaker.ts'
import * as pace from './pace.ts'

/** After so long without a success nothing is known any more. */
const QUIET_MS = 10_000
/** While the breaker is open a code is worth sending again after so long. */
const HELD_MS = 30_000

/** The common state of all daemons about the provider's token endpoint: one small document in Redis. */
const stateSchema = z.object({
  pace: pace.paceSchema,
  breaker: breaker.breakerSchema.refine(({ is, cause }) => (is === 'closed') === (cause === null)),
  /** The provider gives another refresh token with a refresh, and ends the old one. Seen once, believed for good. */
  rotates: z.boolean().default(false),
  /** How many accounts there are. */
  fleet: z.number().default(0),
})

export type EndpointState = z.infer<typeof stateSchema>

/** One observation of a daemon: its report is a list of these, in their order. */
export interface Seen {
  /** Refreshes that worked. */
  worked?: number
  failed?: breaker.FailedCall
  /** The 429 of a code of an install. Strangers send codes: nothing else of their answers counts. */
  refusedCode?: ProviderFailure
  /** A refresh brought another refresh token. */
  rotated?: true
  fleet?: number
}

export function newState(now: number): EndpointState {
  return stateSchema.parse({ pace: { at: now }, breaker: {} })
}

/** The state after a daemon's report. */
export function afterReport(before: EndpointState, report: readonly Seen[], now: number): EndpointState {
  const isQuiet = now - before.breaker.lastSuccessAt > QUIET_MS
  const state = { ...before, pace: pace.refillPermits(isQuiet ? pace.slowed(before.pace) : before.pace, now) }
  for (const { worked = 0, failed, refusedCode, rotated, fleet } of report) {
    state.fleet = fleet ?? state.fleet
    state.rotates ||= rotated === true
    state.pace = pace.afterSuccesses(state.pace, worked, now)
    const refusal = failed?.failure ?? refusedCode
    if (refusal?.status === 429) state.pace = pace.afterRefusal(state.pace, refusal.retryAfterMs, now)
    state.breaker = breaker.noteSuccesses(state.breaker, worked, now)
    if (failed !== undefined) state.breaker = breaker.noteFailure(state.breaker, failed, state.fleet, now)
  }
  state.breaker = breaker.settle(state.breaker, now)
  // Out of a trouble it goes slowly, as from quiet.
  if (before.breaker.is === 'open' && state.breaker.is !== 'open') state.pace = pace.slowed(state.pace)
  return state
}

/** How many refreshes, and how many codes of installs. */
export interface Calls {
  refreshes: number
  codes: number
}

/** `most`: as many of each kind, together no more than `calls`. */
export interface Granted {
  calls: number
  most: Calls
}

/** Lets calls through, up to as many as are wanted; while the breaker is open one refresh at a time, to see. */
export function grant(before: EndpointState, wanted: Calls, now: number): { state: EndpointState; granted: Granted } {
  const isOpen = before.breaker.is === 'open'
  const noProbe = { breaker: before.breaker, granted: 0 }
  const probe = isOpen && wanted.refreshes > 0 ? breaker.takeProbe(before.breaker, now) : noProbe
  const codes = breaker.holdsCodes(probe.breaker, now) ? 0 : wanted.codes
  const taken = pace.take(before.pace, isOpen ? codes : wanted.refreshes + codes)
  // A code must not go in the place of the probe.
  const most = isOpen
    ? { refreshes: probe.granted, codes: taken.granted }
    : { refreshes: Number.POSITIVE_INFINITY, codes }
  const state = { ...before, breaker: probe.breaker, pace: taken.pace }
  return { state, granted: { calls: taken.granted + probe.granted, most } }
}

/** When it is worth asking for the next call, ms. */
export function nextAt(state: EndpointState, kind: keyof Calls, now: number): number {
  if (kind === 'refreshes') return state.breaker.is === 'open' ? state.breaker.probeAt : pace.nextPermitAt(state.pace)
  return breaker.holdsCodes(state.breaker, now) ? now + HELD_MS : pace.nextPermitAt(state.pace)
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

/** Undefined for no text, and for a text that can't be read: neither may stop the refreshes. */
export function decodeEndpoint(stored: string): EndpointState | undefined {
  try {
    return stateSchema.parse(JSON.parse(stored))
  } catch {
    return undefined
  }
}
