import * as z from 'zod'

const SECOND = 1_000
const START_PER_SECOND = 50
const LEAST_BURST = 8
/** Permits that may gather, in seconds of the pace: enough that no call waits for the next report. */
const BURST_SECONDS = 0.2
/** One call in ten may be for a code. A flood of forged ones makes refreshes a tenth slower, and no more. */
const CODE_SHARE = 0.1
/** Most of the share that may gather, in seconds of it: customers come in groups. */
const CODE_BURST_SECONDS = 2
/** After so long without a success nothing is known any more. */
const QUIET_MS = 10 * SECOND
/** Windows that a limit may be counted over, seconds. */
const WINDOWS = [1, 2, 5, 10]
const LONGEST_WINDOW = 10
/** Calls a second that one success adds: three times as fast after a second of nothing but successes. */
const FASTER_PER_SUCCESS = 2
/** A refusal counts for all accounts for a minute; then one burst may ask again. */
const LONGEST_CLOSED_MS = 60 * SECOND
const LEAST_PER_SECOND = 0.5

/**
 * How fast the token endpoint may be asked: one pace for all daemons, because the provider counts the app's calls and
 * not a daemon's. How many it allows is nowhere published, so it is learnt: from quiet it starts slowly, so that a wrong
 * client secret costs a handful of calls and not one per account; every success makes it faster; a 429 closes it for as
 * long as the answer asks, and sets the ceiling to what went through.
 */
export const paceSchema = z.strictObject({
  /** Calls a second that are let through now. */
  perSecond: z.number(),
  /** Calls a second that the provider is believed to allow. */
  ceiling: z.number(),
  /** Calls that may be made right now. */
  permits: z.number().default(LEAST_BURST),
  /** Permits that are reserved for codes of installs: refreshes and codes can't use up each other's. */
  codes: z.number().default(START_PER_SECOND * CODE_SHARE * CODE_BURST_SECONDS),
  /** Up to when permits were given, ms. */
  at: z.number(),
  /** Nothing goes through before: the provider asked for it. */
  closedUntil: z.number().default(0),
  /** When it was closed, and what was the ceiling then: answers that were still on their way count for the limit too. */
  refusedAt: z.number().default(0),
  ceilingBefore: z.number(),
  /** 429s in a row without a time to wait. */
  refusals: z.number().default(0),
  /** The rate that the provider allowed when it last refused, calls a second; null = it never has. */
  knownLimit: z.number().nullable().default(null),
  lastSuccessAt: z.number().default(0),
  /** Calls that went through in the second `recentSecond` (of the clock) and in each of those before it. */
  recent: z.array(z.number()).default([]),
  recentSecond: z.number().default(0),
})

export type Pace = z.infer<typeof paceSchema>

/** How many refreshes, and how many codes of installs. */
export interface Calls {
  refreshes: number
  codes: number
}

export function newPace(mostPerSecond: number, now: number): Pace {
  const perSecond = Math.min(START_PER_SECOND, mostPerSecond)
  return paceSchema.parse({ perSecond, ceiling: mostPerSecond, ceilingBefore: mostPerSecond, at: now })
}

/** Permits that time has brought. */
export function refillPermits(pace: Pace, mostPerSecond: number, now: number): Pace {
  const ceiling = Math.min(pace.ceiling, mostPerSecond)
  // A clock that was set back must not stop the world until it has caught up.
  const lastSuccessAt = Math.min(pace.lastSuccessAt, now)
  const closedUntil = Math.min(pace.closedUntil, now + LONGEST_CLOSED_MS)
  const quiet = now - lastSuccessAt > QUIET_MS
  const perSecond = Math.min(quiet ? Math.min(pace.perSecond, START_PER_SECOND) : pace.perSecond, ceiling)
  const from = Math.max(Math.min(pace.at, now), closedUntil)
  const brought = (Math.max(0, now - from) / SECOND) * perSecond
  const permits = now < closedUntil ? 0 : Math.min(burstOf(perSecond), pace.permits + brought)
  const mostCodes = Math.max(1, perSecond * CODE_SHARE * CODE_BURST_SECONDS)
  const codes = Math.min(mostCodes, pace.codes + brought * CODE_SHARE)
  return { ...pace, ceiling, perSecond, permits, codes, at: now, closedUntil, lastSuccessAt }
}

function burstOf(perSecond: number): number {
  // Slower than the least burst a second, all of a second may gather, so that whole calls come of it.
  return Math.max(Math.min(LEAST_BURST, Math.max(1, perSecond)), perSecond * BURST_SECONDS)
}

export function afterSuccesses(pace: Pace, count: number, mostPerSecond: number, now: number): Pace {
  if (count === 0) return pace
  const through = counted(pace, count, now)
  // Asked before the provider refused, answered after: no sign that it would take more, but part of what it had taken.
  // Measured without, a limit of 40 a second was taken for 5, and a backlog took minutes.
  if (now < pace.closedUntil) {
    const measured = rateAllowed(through, pace.closedUntil - pace.refusedAt, now)
    return { ...(measured > (pace.knownLimit ?? 0) ? limited(through, measured) : through), lastSuccessAt: now }
  }
  const perSecond = Math.min(pace.ceiling, pace.perSecond + FASTER_PER_SUCCESS * count)
  // Only a pace that runs into the ceiling has shown that it may be higher.
  const pushing = perSecond >= pace.ceiling * 0.95
  const ceiling = pushing ? Math.min(mostPerSecond, pace.ceiling * growth(pace, count)) : pace.ceiling
  return { ...through, perSecond, ceiling, refusals: 0, lastSuccessAt: now }
}

/** Ten percent a second; half a percent around the limit that is known, where the next refusal is to be expected. */
function growth({ perSecond, ceiling, knownLimit }: Pace, count: number): number {
  const isNear = knownLimit !== null && ceiling >= knownLimit * 0.9 && ceiling < knownLimit * 1.05
  return 1 + ((isNear ? 0.005 : 0.1) * count) / Math.max(1, perSecond)
}

/** The endpoint answered 429. `waitMs`: its Retry-After, if it had one. */
export function afterRefusal(pace: Pace, waitMs: number | undefined, now: number): Pace {
  // Others of the same moment: the ceiling was lowered for the first of them.
  if (now < pace.closedUntil) {
    const told = now + Math.min(waitMs ?? 0, LONGEST_CLOSED_MS)
    return { ...pace, closedUntil: Math.max(pace.closedUntil, told), permits: 0 }
  }
  const wait = Math.min(waitMs ?? SECOND * 2 ** Math.min(pace.refusals, 5), LONGEST_CLOSED_MS)
  const measured = rateAllowed(counted(pace, 0, now), wait, now)
  // The very first call was refused, so nothing was measured: the rate is halved until a call goes through.
  const rate = measured > 0 ? measured : pace.perSecond / 2
  const closed = { permits: 0, closedUntil: now + wait, refusedAt: now, refusals: pace.refusals + 1 }
  return limited({ ...pace, ...closed, ceilingBefore: pace.ceiling }, rate)
}

/** Back to the speed of a start, as after a pause. */
export function slowed(pace: Pace): Pace {
  return { ...pace, perSecond: Math.min(START_PER_SECOND, pace.ceiling), permits: Math.min(LEAST_BURST, pace.permits) }
}

function limited(pace: Pace, rate: number): Pace {
  const ceiling = Math.max(LEAST_PER_SECOND, Math.min(pace.ceilingBefore, rate * 0.9))
  return { ...pace, ceiling, perSecond: Math.min(START_PER_SECOND, ceiling), knownLimit: rate }
}

/**
 * The rate that the provider seems to allow, calls a second. It counts over a window that is at least as long as it makes us
 * wait; of the possible windows, the one in which most went through is the one it refused for.
 */
function rateAllowed({ recent }: Pace, waitMs: number, now: number): number {
  const intoSecond = (now % SECOND) / SECOND
  const windows = WINDOWS.filter((seconds) => seconds >= Math.min(waitMs / SECOND, LONGEST_WINDOW))
  const rates = windows.map((seconds) => {
    const whole = recent.slice(0, seconds).reduce((sum, count) => sum + count, 0)
    return (whole + (recent[seconds] ?? 0) * (1 - intoSecond)) / Math.max(seconds, waitMs / SECOND)
  })
  return Math.max(...rates)
}

/** Counts calls that the provider did not answer with 429, whether they worked or not. */
export function counted(pace: Pace, count: number, now: number): Pace {
  const second = Math.floor(now / SECOND)
  const passed = second - pace.recentSecond
  const kept = passed < 0 || passed > LONGEST_WINDOW ? [] : [...Array<number>(passed).fill(0), ...pace.recent]
  const [current = 0, ...before] = kept
  return { ...pace, recent: [current + count, ...before].slice(0, LONGEST_WINDOW + 1), recentSecond: second }
}

/** Whole permits, as many as there are. A code counts as a call, too, so `permits` may become negative. */
export function take(pace: Pace, wanted: Calls): { pace: Pace; granted: Calls } {
  const refreshes = wholeOf(pace.permits, wanted.refreshes)
  const codes = pace.at < pace.closedUntil ? 0 : wholeOf(pace.codes, wanted.codes)
  const left = { permits: pace.permits - refreshes - codes, codes: pace.codes - codes }
  return { pace: { ...pace, ...left }, granted: { refreshes, codes } }
}

function wholeOf(there: number, wanted: number): number {
  return Math.max(0, Math.min(Math.floor(there), wanted))
}

/** When the call that is the `nth` in line is let through, ms. */
export function nextAt(pace: Pace, of: 'permits' | 'codes', nth: number): number {
  const perSecond = of === 'codes' ? pace.perSecond * CODE_SHARE : pace.perSecond
  const missing = Math.max(0, nth - pace[of])
  return Math.max(pace.closedUntil, pace.at) + Math.ceil((missing / perSecond) * SECOND)
}

/** About how many calls the pace lets through within `ms` from `now`: it may double in that time. */
export function callsWithin(pace: Pace, ms: number, now: number): number {
  const seconds = Math.max(0, ms - Math.max(0, pace.closedUntil - now)) / SECOND
  return Math.floor(pace.permits + seconds * Math.min(2 * pace.perSecond, pace.ceiling))
}
