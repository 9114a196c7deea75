import type { Asks } from './because.ts'

/** From here on one more or less of a count is no news. */
const LARGE_COUNT = 5

/**
 * How far inside its condition a level is left, in the condition's unit: the rule's own margin, or a general one, so that a
 * number that swings around a threshold is one alert.
 */
export function marginOf(asks: Asks, threshold: number, ownMargin: number | undefined, percentMargin: number): number {
  if (ownMargin !== undefined) return ownMargin
  switch (asks) {
    case 'percent':
      return percentMargin
    case 'count':
      return threshold < LARGE_COUNT ? 0 : 1
    case 'remaining':
      // Of whole numbers: 10 % of the threshold, rounded down.
      return Math.max(1, Math.floor(threshold / 10))
    case 'daysLeft':
      return 1
  }
}
