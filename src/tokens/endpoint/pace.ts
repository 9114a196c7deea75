import * as z from 'zod'

const SECOND = 1_000
/** At first, after a pause and after an outage: a wrong client secret costs a handful of calls, and not one per account. */
const START_PER_SECOND = 50
const LEAST_PER_SECOND = 0.5
/** The bound before the first 429: enough to refresh each of a million accounts within four minutes. */
const MOST_PER_SECOND = 5_000
const LEAST_BURST = 8
/** Permits that may gather, in seconds of the pace: enough that no call waits for the next report. */
const BURST_SECONDS = 0.2
/** Calls a second that one success adds: three times as fast after a second of nothing but successes. */
const FASTER = 2
/** The same in the minute after a 429: two percent in a second. */
const FASTER_AFTER_REFUSAL = 0.02
const REFUSAL_KEPT_MS = 60 * SECOND
const SLOWER_BY_REFUSAL = 0.7
/** A refusal counts for all accounts for a minute; then one burst may ask again. */
const LONGEST_CLOSED_MS = 60 * SECOND

/**
 * How fast the token endpoint may be asked: one pace for all daemons, because the provider counts the app's calls and not a
 * daemon's. How many it allows is nowhere published, so it is learned: every success adds a little, and a 429 takes a share
 * away and stops all calls for as long as it asks.
 */
export const paceSchema = z.strictObject({
  /** Calls a second that are let through. */
  perSecond: z.number().default(START_PER_SECOND),
  /** Calls that may be made right now. */
  permits: z.number().default(LEAST_BURST),
  /** Up to when permits were given, ms. */
  at: z.number(),
  /** Nothing goes through before: the provider asked for it. */
  closedUntil: z.number().default(0),
  refusedAt: z.number().default(0),
  /** 429s in a row. */
  refusals: z.number().default(0),
})

export type Pace = z.infer<typeof paceSchema>

/** Permits that time has brought. */
export function refillPermits(pace: Pace, now: number): Pace {
  if (now < pace.closedUntil) return { ...pace, permits: 0, at: now }
  const seconds = Math.max(0, now - Math.max(pace.at, pace.closedUntil)) / SECOND
  return { ...pace, permits: Math.min(burstOf(pace), pace.permits + seconds * pace.perSecond), at: now }
}

function burstOf({ perSecond }: Pace): number {
  // Slower than the least burst a second, all of a second may gather, so that whole calls come of it.
  return Math.max(1, Math.min(LEAST_BURST, perSecond), perSecond * BURST_SECONDS)
}

export function afterSuccesses(pace: Pace, count: number, now: number): Pace {
  // Answers to calls that were sent before the provider refused are no sign that it takes more.
  if (count === 0 || now < pace.closedUntil) return pace
  const faster = now - pace.refusedAt < REFUSAL_KEPT_MS ? FASTER_AFTER_REFUSAL : FASTER
  // While permits are left over, fewer calls are made than the pace allows: their success says nothing about more.
  const gained = pace.permits < burstOf(pace) ? faster * count : 0
  return { ...pace, perSecond: Math.min(MOST_PER_SECOND, pace.perSecond + gained), refusals: 0 }
}

/** The endpoint answered 429. `waitMs`: its Retry-After, if it had one. */
export function afterRefusal(pace: Pace, waitMs: number | undefined, now: number): Pace {
  const isOfSameMoment = now < pace.closedUntil
  const wait = waitMs ?? (isOfSameMoment ? 0 : SECOND * 2 ** Math.min(pace.refusals, 5))
  const closedUntil = Math.max(pace.closedUntil, now + Math.min(wait, LONGEST_CLOSED_MS))
  if (isOfSameMoment) return { ...pace, closedUntil }
  const perSecond = Math.max(LEAST_PER_SECOND, pace.perSecond * SLOWER_BY_REFUSAL)
  return { ...pace, perSecond, permits: 0, closedUntil, refusedAt: now, refusals: pace.refusals + 1 }
}

/** Back to the speed of a start. */
export function slowed(pace: Pace): Pace {
  return {
    ...pace,
    perSecond: Math.min(START_PER_SECOND, pace.perSecond),
    permits: Math.min(LEAST_BURST, pace.permits),
  }
}

/** Whole permits, as many as there are. */
export function take(pace: Pace, wanted: number): { pace: Pace; granted: number } {
  const granted = Math.min(Math.floor(pace.permits), wanted)
  return { pace: { ...pace, permits: pace.permits - granted }, granted }
}

/** The moment that lets the next call through, ms. */
export function nextPermitAt(pace: Pace): number {
  const missing = Math.max(0, 1 - pace.permits)
  return Math.max(pace.closedUntil, pace.at) + Math.ceil((missing / pace.perSecond) * SECOND)
}

/** About how many calls the pace lets through within `ms` from `now`. */
export function callsWithin(pace: Pace, ms: number, now: number): number {
  const seconds = Math.max(0, ms - Math.max(0, pace.closedUntil - now)) / SECOND
  return Math.floor(pace.permits + seconds * pace.perSecond)
}
