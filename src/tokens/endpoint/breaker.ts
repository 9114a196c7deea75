import * as z from 'zod'
import { isAppRefused } from '../../provider/classify.ts'
import { OTHER_DATA_CENTER, type ProviderFailure } from '../../provider/failure.ts'

/**
 * - `credentials`: the app itself is refused - its id, its secret, its redirect address.
 * - `refused`: refresh tokens of many accounts are refused at once: not a mass uninstall, but an app that was suspended,
 *   or credentials of another app.
 * - `unreachable`: errors, time-outs, no connection, pages of firewalls and proxies, requests that are not understood.
 *
 * A 429 is none of these: the pace obeys it, and late tokens are an alert of their own (`letsTooFewThrough`).
 */
const CAUSE = z.enum(['credentials', 'refused', 'unreachable'])

export type Cause = z.infer<typeof CAUSE>

const SECOND = 1_000
/** Failures further apart have nothing to do with each other. Longer than the lives of tokens that are usual. */
const REMEMBERED_MS = 3_600 * SECOND
/** The first probes come soon; a trouble that lasts is asked about twice a minute, so that its end is noticed in time. */
const FIRST_PROBE_MS = 5 * SECOND
const LONGEST_PROBE_MS = 30 * SECOND
const WORKED_TO_CLOSE = 10
const HALF_OPEN_MS = 30 * SECOND
/** Two failures for each success are an outage; a third of all calls is not, however many calls there are. */
const FAILURES_PER_SUCCESS = 2
/** Accounts that must fail. Fewer are enough where the app itself is refused: no account has a part in it. */
const NEEDED: Record<Cause, number> = { credentials: 5, refused: 10, unreachable: 10 }
const LEAST_NEEDED = 3

const suspect = z.tuple([z.number(), z.number()])
type Suspect = z.infer<typeof suspect>
const NO_SUSPECTS = { credentials: [], refused: [], unreachable: [] }

/**
 * Many accounts that fail the same way are one trouble: the client secret is wrong, the app is suspended, the provider is down.
 * Then the breaker opens: no account is blamed, one account at a time is tried as a probe, and one alert names the trouble. It
 * closes over half-open: after a probe has worked, the pace starts from slow, and a few more failures open it again.
 */
export const breakerSchema = z.strictObject({
  is: z.enum(['closed', 'open', 'half-open']).default('closed'),
  /** The failure that opened it; null while closed. */
  cause: CAUSE.nullable().default(null),
  /** The provider's last answer, one line without secrets. */
  detail: z.string().default(''),
  /** When it opened, ms. */
  since: z.number().default(0),
  probes: z.number().default(0),
  probeAt: z.number().default(0),
  /** Half-open: the refreshes that worked since, and when it began or a refresh failed last. */
  worked: z.number().default(0),
  halfOpenAt: z.number().default(0),
  /** Accounts that failed in a row, by how, each with when. A success clears them. */
  suspects: z.record(CAUSE, z.array(suspect)).default(NO_SUSPECTS),
  /** When an account was refreshed last, ms. */
  lastSuccessAt: z.number().default(0),
})

export type Breaker = z.infer<typeof breakerSchema>

export const CLOSED: Breaker = breakerSchema.parse({}, { jitless: true })

export function causeOf(failure: ProviderFailure): Cause | undefined {
  const { class: kind, code, status } = failure
  // Accounts that move house, or have: no other has a part in it.
  if (status === 429 || kind === 'parked' || code === OTHER_DATA_CENTER) return undefined
  if (kind === 'rejected') return 'refused'
  return isAppRefused(failure) ? 'credentials' : 'unreachable'
}

/** `isNew`: the account was imported, and no refresh of it has ever worked. */
export interface FailedCall {
  hubId: number
  failure: ProviderFailure
  isNew?: boolean
}

/** `fleet`: the number of accounts. With few of them fewer failures are enough. */
export function noteFailure(breaker: Breaker, failed: FailedCall, fleet: number, now: number): Breaker {
  const { hubId, failure, isNew = false } = failed
  const cause = causeOf(failure)
  if (cause === undefined) return breaker
  // A list that was imported may be full of dead tokens. While tokens that did work still do, the dead ones count for themselves alone.
  if (cause === 'refused' && isNew && now - breaker.lastSuccessAt < REMEMBERED_MS) return breaker
  const { message: detail } = failure
  // The probe's answer is the present cause.
  if (breaker.is === 'open') return { ...breaker, cause, detail }
  const others = breaker.suspects[cause].filter(([id, at]) => id !== hubId && at > now - REMEMBERED_MS)
  const found = [...others, [hubId, now] satisfies Suspect]
  const needed = breaker.is === 'half-open' ? LEAST_NEEDED : Math.min(fleet, NEEDED[cause])
  if (found.length >= Math.max(LEAST_NEEDED, needed)) {
    const since = breaker.is === 'closed' ? now : breaker.since
    const probing = { probes: 0, probeAt: now + FIRST_PROBE_MS }
    return { ...breaker, ...probing, is: 'open', cause, detail, since, suspects: NO_SUSPECTS }
  }
  // Half-open: it closes only after a while without failures.
  return { ...breaker, suspects: { ...breaker.suspects, [cause]: found }, halfOpenAt: now }
}

export function noteSuccesses(breaker: Breaker, count: number, now: number): Breaker {
  if (count === 0) return breaker
  // No call was let through since it opened: this one was sent before, and is reported late.
  if (breaker.is === 'open' && breaker.probes === 0) return { ...breaker, lastSuccessAt: now }
  // An outage is rarely whole, so there each success speaks for a few failures only; for the rest one proves the contrary.
  const unreachable = breaker.suspects.unreachable.slice(FAILURES_PER_SUCCESS * count)
  const better = { ...breaker, suspects: { ...NO_SUSPECTS, unreachable }, lastSuccessAt: now }
  if (breaker.is === 'closed') return better
  if (breaker.is === 'open') return { ...better, is: 'half-open', worked: count, halfOpenAt: now }
  return settle({ ...better, worked: breaker.worked + count }, now)
}

/**
 * Changes by time alone: the breaker closes once enough calls have worked, or, with few calls, nothing has failed for a while.
 */
export function settle(breaker: Breaker, now: number): Breaker {
  if (breaker.is !== 'half-open') return breaker
  if (breaker.worked < WORKED_TO_CLOSE && now - breaker.halfOpenAt < HALF_OPEN_MS) return breaker
  return { ...CLOSED, suspects: breaker.suspects, lastSuccessAt: breaker.lastSuccessAt }
}

/** While open: one call, if the moment for it has come. */
export function takeProbe(breaker: Breaker, now: number): { breaker: Breaker; granted: number } {
  if (now < breaker.probeAt) return { breaker, granted: 0 }
  const pause = Math.min(LONGEST_PROBE_MS, FIRST_PROBE_MS * 1.25 ** breaker.probes)
  return { breaker: { ...breaker, probes: breaker.probes + 1, probeAt: now + pause }, granted: 1 }
}

/**
 * True where codes of installs wait until it closes. Not where refresh tokens are refused, because that is no evidence about
 * codes, and customers who connect again may be the only way out; nor where no account has been tried for long, because none is
 * left that could close it.
 */
export function holdsCodes({ is, cause, probeAt }: Breaker, now: number): boolean {
  return is === 'open' && cause !== 'refused' && now < probeAt + LONGEST_PROBE_MS
}
