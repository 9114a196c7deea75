/** The usage of a series at the end of one UTC day. */
export interface DailyPoint {
  day: number
  usage: number
}

/** How fast usage moves, in absolute numbers per day: a limit that moves is never read as growth. */
export interface Forecast {
  perDay: number
  /** The range in which the pace lies, at a confidence of `CONFIDENCE`. */
  perDayLow: number
  perDayHigh: number
}

/** Days from now until the limit. */
export interface DaysLeft {
  days: number
  /** At the high and the low end of the pace's range; `latest` null: further ahead than anything is told. */
  earliest: number
  latest: number | null
}

export type NoDaysLeft = 'no-limit' | 'no-growth' | 'not-in-sight'

/**
 * Six whole weeks. Whole ones, because people work on weekdays and each weekday must count equally often; six, because
 * fewer let one busy week decide, and more tell the pace of last season: a new pace shows once it has lasted for some
 * three tenths of the window, here within two weeks.
 */
export const WINDOW_DAYS = 42
/** Daily points that a forecast needs, and so days too: fewer make no week. Gaps just take away points. */
export const ENOUGH_POINTS = 7
/**
 * Of the range: over many series, so often the true pace lies in it, or a little more rarely after a week or two. What moves
 * only every few days looks as if it stood still, which foretells nothing, until it has moved some times.
 */
export const CONFIDENCE = 0.9
/** Three years. Whatever is further ahead will have changed before: then no limit is in sight. */
export const HORIZON_DAYS = 1095

/** Both sides of the normal distribution, at CONFIDENCE. */
const Z = 1.645

/**
 * The pace of a series by Theil and Sen: the median of the slopes between all pairs of days, which a few odd days can't
 * move. It is O(n^2), for at most WINDOW_DAYS points.
 *
 * @param points oldest first, a day at most once
 */
export function forecast(points: readonly DailyPoint[]): Forecast | 'not-enough-history' {
  if (points.length < ENOUGH_POINTS) return 'not-enough-history'
  // Most series stand still, and are told of every day.
  if (points.every(({ usage }) => usage === points[0]?.usage)) return { perDay: 0, perDayLow: 0, perDayHigh: 0 }
  const stretches = withoutJump(points)
  const slopes = pairwiseSlopes(stretches)
  const perDay = median(slopes)
  const { low, high } = rankRange(slopes, stretches)
  const luck = accumulatedLuck(stretches, perDay)
  return {
    perDay,
    perDayLow: perDay - Math.hypot(perDay - low, luck),
    perDayHigh: perDay + Math.hypot(high - perDay, luck),
  }
}

/**
 * Whether the pace of a series is below so much a day. For whoever need not know it exactly: slopes are only counted, not
 * sorted, and no range is worked out.
 */
export function isSlowerThan(points: readonly DailyPoint[], perDay: number): boolean {
  if (points.every(({ usage }) => usage === points[0]?.usage)) return perDay > 0
  if (points.length < ENOUGH_POINTS) return false
  // No pace is faster than the fastest step.
  if (points.every((later, n) => n === 0 || slopeBetween(points[n - 1] as DailyPoint, later) < perDay)) return true
  const stretches = withoutJump(points)
  let faster = 0
  for (const stretch of stretches) {
    for (const [n, later] of stretch.entries()) {
      for (let m = 0; m < n; m++) if (slopeBetween(stretch[m] as DailyPoint, later) >= perDay) faster++
    }
  }
  return 2 * faster < countPairs(stretches)
}

/**
 * When usage reaches the limit. It is told only where the whole range of the pace rises: a pace that may as well be chance
 * foretells nothing. At or over the limit it is 0, with or without a forecast.
 */
export function daysLeft(usage: number, limit: number | null, pace: Forecast | undefined): DaysLeft | NoDaysLeft {
  if (limit === null) return 'no-limit'
  if (usage >= limit) return { days: 0, earliest: 0, latest: 0 }
  if (pace === undefined || pace.perDayLow <= 0) return 'no-growth'
  const remaining = limit - usage
  const days = remaining / pace.perDay
  if (days > HORIZON_DAYS) return 'not-in-sight'
  const latest = remaining / pace.perDayLow
  return { days, earliest: remaining / pace.perDayHigh, latest: latest > HORIZON_DAYS ? null : latest }
}

/**
 * The points before a one-off jump and those after it: pairs are looked at within a stretch only. A jump is the one step
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
 * What chance may have added to the pace, or taken from it, per day. Usage is a count: what was made yesterday stands there
 * today, so good and bad luck add up from day to day, and of such counts Sen's range alone would hold the true pace in a
 * third of all cases. The variance of that sum is the one of the steps with the covariance of neighbours: steps that take
 * each other back - days that err for themselves - leave nothing of it. The slope of a line through a random walk has 6/5
 * of the variance of its mean step.
 */
function accumulatedLuck(stretches: readonly (readonly DailyPoint[])[], perDay: number): number {
  const steps = stretches.flatMap(stepsOf)
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
  return studentT(steps.length / 3) * Math.sqrt((1.2 * variance) / days)
}

/** Student's quantile at CONFIDENCE, both sides, by its expansion around the normal one. */
function studentT(freedom: number): number {
  return Z + (Z ** 3 + Z) / (4 * freedom) + (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * freedom ** 2)
}

/** From each point to the next. */
function stepsOf(points: readonly DailyPoint[]): { change: number; days: number }[] {
  return points.slice(1).map(({ day, usage }, n) => {
    const before = points[n] as DailyPoint
    return { change: usage - before.usage, days: day - before.day }
  })
}

/** Of all pairs within a stretch, ascending. */
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
