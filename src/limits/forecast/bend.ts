import { chanceOf, type DailyPoint, meanOf, type Step, stepsOf, studentT, type UsagePace } from './pace.ts'

/** Usage moves at this pace today, and each day at another one: by a steady share more, or less. */
export interface Bend {
  perDay: number
  /** A day, as a share of the pace; below 0 it slows down. */
  share: number
}

/** How much faster and how much slower the pace may become, as far as the days show. */
export interface Bends {
  quickening: Bend
  slowing: Bend
}

/**
 * By the means of the older and the newer half of the days, and how sure those are. Undefined where the days are a line.
 *
 * @param pace by all of them
 */
export function bendsOf(points: readonly DailyPoint[], pace: UsagePace): Bends | undefined {
  const steps = stepsOf(points)
  const middle = Math.floor(steps.length / 2)
  const [older, newer] = [halfOf(steps.slice(0, middle)), halfOf(steps.slice(middle))]
  // Growth that has just begun shows no bend yet: it may as well be by a share of usage, as with interest.
  if (older.perDay <= 0 || newer.perDay <= 0) {
    const usage = Math.max(1, points.at(-1)?.usage ?? 0)
    const { perDay, perDayHigh } = pace
    return { quickening: { perDay: perDayHigh, share: perDayHigh / usage }, slowing: { perDay, share: 0 } }
  }
  const apart = (older.days + newer.days) / 2
  const change = Math.log(newer.perDay / older.perDay)
  const error = studentT(steps.length / 3) * Math.hypot(older.error / older.perDay, newer.error / newer.perDay)
  if (change === 0 && error === 0) return undefined
  // The mean of a half is the pace in its middle.
  const until = (share: number): Bend => ({ perDay: newer.perDay * Math.exp((share * newer.days) / 2), share })
  return {
    quickening: until(Math.max(0, (change + error) / apart)),
    // Half as sure as the sooner end: with more room nearly every later end would be "or never".
    slowing: until(Math.min(0, (change - error / 2) / apart)),
  }
}

function halfOf(steps: readonly Step[]) {
  const { perDay, days } = meanOf(steps)
  return { perDay, days, error: chanceOf(steps, perDay).perRootDay / Math.sqrt(days) }
}

/** Days until usage has come that far; infinite where the pace ends before. */
export function daysAlong({ perDay, share }: Bend, remaining: number): number {
  if (share === 0) return remaining / perDay
  return Math.log1p(Math.max(-1, (share * remaining) / perDay)) / share
}
