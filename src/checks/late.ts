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
  const isLate = now - Math.max(last ?? since, since) > allowedMs
  const finished = last === undefined ? `none ${done} yet` : `last ${done} ${inSeconds(now - last)} s ago`
  return { isLate, says: `${finished}, at most ${inSeconds(allowedMs)} s allowed` }
}
