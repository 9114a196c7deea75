import type { DailyPoint } from '../../../src/limits/forecast/forecast.ts'

export const DAY = 20_000

export function daily(count: number, usageOn: (n: number) => number): DailyPoint[] {
  return Array.from({ length: count }, (_, n) => ({ day: DAY + n, usage: usageOn(n) }))
}

export const bell = (roll: () => number) => Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll())

/** How many things happen in a day on which `mean` are expected. */
export function happening(roll: () => number, mean: number): number {
  // Where many are expected, the normal distribution is as good.
  if (mean > 50) return Math.max(0, Math.round(mean + Math.sqrt(mean) * bell(roll)))
  let count = 0
  for (let left = roll(); left > Math.exp(-mean); left *= roll()) count++
  return count
}

/** A count to which each day adds. */
export function adding(days: number, added: (n: number) => number): DailyPoint[] {
  let usage = 400
  return daily(days, (n) => {
    usage += added(n)
    return usage
  })
}
