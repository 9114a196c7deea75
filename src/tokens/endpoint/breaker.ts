import type { ProviderFailure } from '../../provider/failure.ts'

/**
 * Many accounts that fail the same way are one trouble: the client secret is wrong, the app is suspended, the provider is
 * down. Then the breaker opens: no account is blamed, one account at a time is tried as a probe, and one alert says what
 * is wrong. It closes over half-open: after a probe has worked, the pace starts from slow, and a few more failures open
 * it again.
 */
export interface Breaker {
  is: 'closed' | 'open' | 'half-open'
  /** What is wrong; null while closed. */
  cause: Cause | null
  /** What the provider said last, one line without secrets. */
  detail: string
  /** When it opened, ms. */
  since: number
  probes: number
  probeAt: number
  /** Half-open: what worked since, and from when. */
  worked: number
  halfOpenAt: number
  /** Accounts that failed in a row, by how, each with when. A success clears them. */
  suspects: Record<Cause, [hubId: number, at: number][]>
  /** When an account was refreshed last, ms. */
  lastSuccessAt: number
}

/**
 * - `credentials`: the app itself is refused - its id, its secret, the form of the request.
 * - `refused`: refresh tokens of many accounts are refused at once: not a mass uninstall, but an app that was suspended,
 *   or credentials of another app.
 * - `unreachable`: errors, time-outs, no connection.
 * - `throttled`: nothing but 429 for minutes.
 */
export type Cause = 'credentials' | 'refused' | 'unreachable' | 'throttled'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** Failures further apart have nothing to do with each other. Longer than the lives of tokens that are usual. */
const REMEMBERED_MS = 60 * MINUTE
const THROTTLED_FOR_MS = 2 * MINUTE
/** The first probes come soon; a trouble that lasts is asked about twice a minute, so that its end is noticed in time. */
const FIRST_PROBE_MS = 5 * SECOND
const LONGEST_PROBE_MS = 30 * SECOND
const WORKED_TO_CLOSE = 10
/** Two failures for each success are an outage; a third of all calls is not, however many calls there are. */
const FAILURES_PER_SUCCESS = 2
const HALF_OPEN_MS = 30 * SECOND

export function closedBreaker(): Breaker {
  return {
    ...{ is: 'closed', cause: null, detail: '', since: 0, probes: 0, probeAt: 0, worked: 0, halfOpenAt: 0 },
    ...{ suspects: noSuspects(), lastSuccessAt: 0 },
  }
}

export function causeOf({ class: kind, status }: ProviderFailure): Cause | undefined {
  if (status === 429) return 'throttled'
  // A redirect is somebody else's page, of a proxy or of some maintenance: it says nothing of the app.
  if (status >= 300 && status < 400) return 'unreachable'
  switch (kind) {
    case 'client':
    case 'forbidden':
    case 'unauthorized':
      return 'credentials'
    case 'rejected':
      return 'refused'
    case 'transient':
      return 'unreachable'
    case 'parked':
      return undefined // One account that moves house.
  }
}

/**
 * `fleet`: how many accounts there are. In a small one fewer failures say as much. `isNew`: the account was imported, and
 * no refresh of it has ever worked.
 */
export function breakerAfterFailure(
  breaker: Breaker,
  hubId: number,
  failure: ProviderFailure,
  fleet: number,
  now: number,
  isNew = false,
): Breaker {
  const cause = causeOf(failure)
  if (cause === undefined) return breaker
  // A list that was imported may be full of dead tokens. Where tokens that did work still do, those blame nobody else.
  if (cause === 'refused' && isNew && now - breaker.lastSuccessAt < REMEMBERED_MS) return breaker
  const { message: detail } = failure
  // What a probe was told is what is wrong now.
  if (breaker.is === 'open') return { ...breaker, cause, detail }
  const suspects = { ...breaker.suspects, [cause]: suspectsAfter(breaker.suspects[cause], cause, hubId, now) }
  // Half-open: it closes by itself only after a while in which nothing failed.
  const suspected = { ...breaker, suspects, ...(breaker.is === 'half-open' ? { halfOpenAt: now } : {}) }
  return enough(suspected, cause, fleet, now) ? opened(suspected, cause, detail, now) : suspected
}

const MOST_NEEDED = 10

type Suspects = Breaker['suspects'][Cause]

/** The newest; but of the throttled the oldest stays, because there it counts for how long nothing has gone through. */
function suspectsAfter(before: Suspects, cause: Cause, hubId: number, now: number): Suspects {
  const recent = before.filter(([, at]) => at > now - REMEMBERED_MS)
  const others = recent.filter(([id]) => id !== hubId)
  const keepsOld = cause === 'throttled' && (others.length < recent.length || recent.length === MOST_NEEDED)
  return keepsOld ? recent : [...others, [hubId, now] satisfies Suspects[number]].slice(-MOST_NEEDED)
}

function enough(breaker: Breaker, cause: Cause, fleet: number, now: number): boolean {
  const found = breaker.suspects[cause]
  if (cause === 'throttled') {
    const [first] = found
    return found.length >= 3 && first !== undefined && first[1] <= now - THROTTLED_FOR_MS
  }
  if (breaker.is === 'half-open') return found.length >= 3
  // That the app is refused can be said of it after fewer: no account has a part in it.
  return found.length >= (cause === 'credentials' ? clamp(fleet, 3, 5) : clamp(fleet, 3, MOST_NEEDED))
}

function opened(breaker: Breaker, cause: Cause, detail: string, now: number): Breaker {
  const since = breaker.is === 'closed' ? now : breaker.since
  return {
    ...breaker,
    ...{ is: 'open', cause, detail, since, probes: 0, probeAt: now + FIRST_PROBE_MS, suspects: noSuspects() },
  }
}

export function breakerAfterSuccesses(breaker: Breaker, count: number, now: number): Breaker {
  if (count === 0) return breaker
  // Nobody was let through since it opened: this was asked before, and is told late.
  if (breaker.is === 'open' && breaker.probes === 0) return { ...breaker, lastSuccessAt: now }
  const { unreachable } = breaker.suspects
  // An outage is rarely whole, so there each success speaks for a few failures only; for the rest one proves the contrary.
  const suspects = { ...noSuspects(), unreachable: unreachable.slice(FAILURES_PER_SUCCESS * count) }
  const better = { ...breaker, suspects, lastSuccessAt: now }
  if (breaker.is === 'closed') return better
  if (breaker.is === 'open') return { ...better, is: 'half-open', worked: count, halfOpenAt: now }
  return settle({ ...better, worked: breaker.worked + count }, now)
}

/** What time alone brings: closed once enough has worked, or in a quiet fleet nothing has failed for a while. */
export function settle(breaker: Breaker, now: number): Breaker {
  // A probe further away than any pause comes of a clock that was set back: nobody would be taken up for it.
  if (breaker.is === 'open' && breaker.probeAt > now + LONGEST_PROBE_MS) return { ...breaker, probeAt: now }
  if (breaker.is !== 'half-open') return breaker
  const quietFor = now - breaker.halfOpenAt
  if (breaker.worked < WORKED_TO_CLOSE && quietFor >= 0 && quietFor < HALF_OPEN_MS) return breaker
  return { ...closedBreaker(), suspects: breaker.suspects, lastSuccessAt: breaker.lastSuccessAt }
}

/** While open: one call, if the moment for it has come. */
export function takeProbe(breaker: Breaker, now: number): { breaker: Breaker; granted: number } {
  if (now < breaker.probeAt) return { breaker, granted: 0 }
  const pause = Math.min(LONGEST_PROBE_MS, FIRST_PROBE_MS * 1.25 ** breaker.probes)
  return { breaker: { ...breaker, probes: breaker.probes + 1, probeAt: now + pause }, granted: 1 }
}

/** A daemon that was just started may have been given what was wrong: it may ask at once. */
export function probeNow(breaker: Breaker, now: number): Breaker {
  return breaker.is === 'open' ? { ...breaker, probes: 0, probeAt: now } : breaker
}

function noSuspects(): Breaker['suspects'] {
  return { credentials: [], refused: [], unreachable: [], throttled: [] }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high)
}
