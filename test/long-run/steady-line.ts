/** Whether a series moves, over its second half: the first is for tables, compiled code and caches to fill. */
export interface Line {
  mean: number
  /** By how much a fitted line rises over that half. */
  rise: number
  /** How sure that is: its standard error. */
  error: number
}

export function lineOf(values: readonly number[]): Line {
  const half = values.slice(Math.floor(values.length / 2))
  const mean = average(half)
  const middle = (half.length - 1) / 2
  const spread = half.reduce((sum, _, n) => sum + (n - middle) ** 2, 0)
  const slope = half.reduce((sum, value, n) => sum + (n - middle) * (value - mean), 0) / spread
  const rest = half.reduce((sum, value, n) => sum + (value - mean - slope * (n - middle)) ** 2, 0)
  const error = Math.sqrt(rest / Math.max(1, half.length - 2) / spread)
  return { mean, rise: slope * (half.length - 1), error: error * (half.length - 1) }
}

/** Rises by more than a share of itself, and by more than chance would have it. */
export function isRising({ mean, rise, error }: Line, share: number): boolean {
  return rise > mean * share && rise > 3 * error
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
