import type { DailyPoint } from '../../../src/limits/forecast/forecast.ts'

export const DAY = 20_000

export function daily(count: number, usageOn: (n: number) => number): DailyPoint[] {
  return Array.from({ length: count }, (_, n) => ({ day: DAY + n, usage: usageOn(n) }))
}

/** Numbers from 0 to 1, the same for the same seed. */
export function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
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
