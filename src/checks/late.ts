import { inSeconds } from './check.ts'

/** A sweep may be missed, or take its time. */
const PERIODS = 3
const GRACE_MS = 15_000

interface Pace {
  now: number
  /** Moment at which it was done last, ms; undefined: never. */
  last: number | undefined
  /** Since when it could be done, ms: who was down for an hour is not stuck for an hour when it comes up. */
  since: number
  /** The longest that may lie between two. */
  periodMs: number
  /** The verb: finished, handed on. */
  done: string
}

/** Judges whether work that comes at an interval, such as a sweep, is late. */
export function judgeLate({ now, last, since, periodMs, done }: Pace): { isLate: boolean; says: string } {
  const allowedMs = PERIODS * periodMs + GRACE_MS
  // One from the future was noted before the clock was set back, or by a daemon whose clock is ahead.
  const isFromFuture = last !== undefined && last - now > GRACE_MS
  const lastDone = isFromFuture ? undefined : last
  const isLate = now - Math.max(lastDone ?? since, since) > allowedMs
  if (isFromFuture && isLate) return { isLate, says: `last ${done} in the future: the clock was set back` }
  const finished = lastDone === undefined ? `none ${done} yet` : `last ${done} ${inSeconds(now - lastDone)} s ago`
  return { isLate, says: `${finished}, at most ${inSeconds(allowedMs)} s allowed` }
}
