/** The usage of a series at the end of one day. */
export interface DailyPoint {
  day: number
  usage: number
}

/** How fast usage moves, in absolute numbers per day: a limit that moves is never read as growth. */
export interface UsagePace {
  perDay: number
  /** The range in which the pace lies, at a confidence of `CONFIDENCE`. */
  perDayLow: number
  perDayHigh: number
  /** How far chance takes usage from its pace within a day, at that confidence; within n days, the square root of n as far. */
  scatter: number
}

/** Share of ends, over many series, that lie in their range. */
export const CONFIDENCE = 0.8

/** Both sides of the normal distribution, at CONFIDENCE. */
const Z = 1.2816

/** From one point to the next. */
export interface Step {
  /** The day on which it ends. */
  day: number
  change: number
  days: number
}

/**
 * The pace of weeks by Theil and Sen: the median of the slopes between all pairs of days, which a few odd days can't move.
 * It is O(n^2), for at most six weeks of points.
 *
 * @param points oldest first, a day at most once
 */
export function steadyPace(points: readonly DailyPoint[]): UsagePace {
  // Most series do not move, and are computed every day.
  if (points.every(({ usage }) => usage === points[0]?.usage)) {
    return { perDay: 0, perDayLow: 0, perDayHigh: 0, scatter: 0 }
  }
  const stretches = withoutJump(points)
  const slopes = pairwiseSlopes(stretches)
  const perDay = median(slopes)
  const { low, high } = rankRange(slopes, stretches)
  const { perRootDay, freedom, days } = chanceOf(stretches.flatMap(stepsWithin), perDay)
  // The slope of a line through a random walk has 6/5 of the variance of its mean step.
  const luck = studentT(freedom) * perRootDay * Math.sqrt(1.2 / days)
  return {
    perDay,
    perDayLow: perDay - Math.hypot(perDay - low, luck),
    perDayHigh: perDay + Math.hypot(high - perDay, luck),
    scatter: Z * perRootDay,
  }
}

/**
 * The pace of a few days: their mean, with the range that their own scatter gives it by Student. One odd day among them makes
 * a range that holds 0 and every pace of before, however far it went; two alike don't. Undefined for less than three steps,
 * which are no evidence of a scatter.
 */
export function meanPace(steps: readonly Step[]): Omit<UsagePace, 'scatter'> | undefined {
  if (steps.length < 3) return undefined
  const { perDay, days } = meanOf(steps)
  const variance = steps.reduce((sum, step) => sum + step.days * (step.change / step.days - perDay) ** 2, 0) / days
  const half = studentT(steps.length - 1) * Math.sqrt(variance / (steps.length - 1))
  return { perDay, perDayLow: perDay - half, perDayHigh: perDay + half }
}

export function meanOf(steps: readonly Step[]): { perDay: number; days: number } {
  const days = steps.reduce((sum, step) => sum + step.days, 0)
  return { perDay: steps.reduce((sum, { change }) => sum + change, 0) / days, days }
}

/** All steps but a one-off jump. */
export function stepsOf(points: readonly DailyPoint[]): Step[] {
  return withoutJump(points).flatMap(stepsWithin)
}

/**
 * The points before a one-off jump and those after it: pairs are compared within a stretch only. A jump is the one step
 * between two readings that is more than three times as far from the usual step as any other. The median alone does not
 * see to it: with a jump in mid-window, more than half of all pairs lie on either side of it. Two of a kind are no one-off,
 * and stay in.
 */
function withoutJump(points: readonly DailyPoint[]): readonly (readonly DailyPoint[])[] {
  const slopes = new Float64Array(points.length - 1)
  for (const n of slopes.keys()) slopes[n] = slopeBetween(points[n] as DailyPoint, points[n + 1] as DailyPoint)
  const usual = median(slopes.toSorted())
  let [largest, size, second] = [0, -1, Number.NEGATIVE_INFINITY]
  for (const [n, slope] of slopes.entries()) {
    const days = (points[n + 1] as DailyPoint).day - (points[n] as DailyPoint).day
    const beside = Math.abs(slope - usual) * days
    if (beside > size) [largest, size, second] = [n, beside, size]
    else if (beside > second) second = beside
  }
  const isJump = size > 3 * Math.max(0, second)
  return isJump ? [points.slice(0, largest + 1), points.slice(largest + 1)] : [points]
}

/**
 * Sen's range of the median slope, from the variance of Kendall's rank statistic with ties. It supposes that each day errs
 * for itself, around a line.
 */
function rankRange(slopes: Float64Array, stretches: readonly (readonly DailyPoint[])[]): { low: number; high: number } {
  const term = (n: number) => n * (n - 1) * (2 * n + 5)
  let variance = 0
  for (const points of stretches) {
    variance += term(points.length) / 18
    for (const tied of Map.groupBy(points, ({ usage }) => usage).values()) variance -= term(tied.length) / 18
  }
  const spread = Z * Math.sqrt(Math.max(0, variance))
  const count = slopes.length
  return {
    low: slopes[Math.max(0, Math.floor((count - spread) / 2) - 1)] ?? 0,
    high: slopes[Math.min(count - 1, Math.ceil((count + spread) / 2))] ?? 0,
  }
}

/**
 * How far chance takes usage within a day. Usage is a count: what was made yesterday is there today, so good and bad luck
 * add up from day to day, and of such counts Sen's range alone would hold the true pace in a third of all cases. The variance
 * of that sum is the one of the steps with the covariance of neighbors: steps that take each other back - days that err for
 * themselves - leave nothing of it.
 */
export function chanceOf(steps: readonly Step[], perDay: number) {
  let days = 0
  let sum = 0
  let last = 0
  for (const step of steps) {
    const beside = step.change - perDay * step.days
    sum += beside * beside + 2 * last * beside
    days += step.days
    last = beside
  }
  const variance = (Math.max(0, sum) / days) * (steps.length / (steps.length - 1))
  // A variance with a covariance in it is known only as well as a plain one from a third of the steps.
  return { perRootDay: Math.sqrt(variance), freedom: steps.length / 3, days }
}

/** Student's quantile at CONFIDENCE, both sides, by its expansion around the normal one. */
export function studentT(freedom: number): number {
  return Z + (Z ** 3 + Z) / (4 * freedom) + (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * freedom ** 2)
}

export function stepsWithin(points: readonly DailyPoint[]): Step[] {
  return points.slice(1).map(({ day, usage }, n) => {
    const before = points[n] as DailyPoint
    return { day, change: usage - before.usage, days: day - before.day }
  })
}

/** Slopes of all pairs within a stretch, ascending. */
function pairwiseSlopes(stretches: readonly (readonly DailyPoint[])[]): Float64Array {
  const slopes = new Float64Array(countPairs(stretches))
  let next = 0
  for (const points of stretches) {
    for (const [n, later] of points.entries()) {
      for (let m = 0; m < n; m++) slopes[next++] = slopeBetween(points[m] as DailyPoint, later)
    }
  }
  return slopes.sort()
}

function slopeBetween(earlier: DailyPoint, later: DailyPoint): number {
  return (later.usage - earlier.usage) / (later.day - earlier.day)
}

function countPairs(stretches: readonly (readonly DailyPoint[])[]): number {
  return stretches.reduce((sum, { length }) => sum + (length * (length - 1)) / 2, 0)
}

function median(sorted: Float64Array): number {
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}
