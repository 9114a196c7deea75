import { z } from 'zod'

/** The usage of a series at the end of one day. */
export interface DailyPoint {
  day: number
  usage: number
}

/** How fast usage rises, in absolute numbers: a limit that moves is never read as growth. */
export const Forecast = z.object({
  perDay: z.number(),
  /** The range in which the pace lies. */
  perDayLow: z.number(),
  perDayHigh: z.number(),
  /** How much may be added at once, beyond the pace. */
  leap: z.number(),
  /** By what share the pace may change each day; below 0 it slows down. */
  bend: z.number(),
})
export type Forecast = z.infer<typeof Forecast>

/** Days from now until the limit. */
export interface DaysLeft {
  days: number
  /** At the soonest and at the latest; `latest` null: further ahead than any forecast. */
  earliest: number
  latest: number | null
}

/**
 * Six whole weeks. Whole ones, because people work on weekdays and each weekday must count equally often; six,
 * because fewer let one busy week decide, and more show the pace of last season.
 */
export const WINDOW_DAYS = 42
/** A new pace shows in its first week; its last three days tell how fast it is, the fewest that have a scatter. */
const WEEK_DAYS = 7
const LAST_DAYS = 3
/** Daily points that a forecast needs, and so days too: fewer make no week. Gaps just take away points. */
export const ENOUGH_POINTS = 7
/** Three years. A pace does not last longer: then no limit is in sight. */
export const HORIZON_DAYS = 1095
/** Further ahead than that no pace is sure to last: it was watched for half as long. Then there is no later end. */
const LATEST_DAYS = 2 * WINDOW_DAYS

/** Share of the weeks that lie at most so far beside the pace: one jump is in a fifth of them, and must not decide. */
const USUAL = 0.75
/** How much more than that the range allows for. The sooner end has more room: it is the one that harms. */
const LATER = 1.5
const SOONER = 3
/** A bend is known by two halves only, so it may be sharper. */
const SHARPER = 1.3
/** At most this share of all days lies between two that are compared: one jump is then in less than half of the pairs. */
const APART = 0.6

/**
 * How fast a series rises, where it does so for sure: a pace that may as well be chance foretells nothing. It is the pace
 * of the weeks, or that of the last days where they are surely faster; the range holds both, and what else may come.
 *
 * @param points oldest first, a day at most once
 */
export function forecast(points: readonly DailyPoint[]): Forecast | 'not-enough-history' | 'no-growth' {
  const [first, last] = [points[0], points.at(-1)]
  if (first === undefined || last === undefined || points.length < ENOUGH_POINTS) return 'not-enough-history'
  // Most series do not move, and are computed every day.
  if (points.every(({ usage }) => usage === first.usage)) return 'no-growth'
  const days = last.day - first.day
  const weeks = medianPace(points, APART * days)
  const luck = luckOf(points, weeks, days)
  const lately = [WEEK_DAYS, LAST_DAYS].flatMap((span) => recentPace(points, span))
  const [week = { low: weeks, high: weeks }] = lately
  const isFaster = week.low > Math.max(0, weeks)
  if (!isFaster && (weeks <= luck || week.high < 0)) return 'no-growth'
  const recent = isFaster || week.high < weeks ? lately : []
  const perDay = isFaster ? Math.max(...recent.map(({ mean }) => mean)) : weeks
  const fall = deepestFall(points)
  // A fall that happened once will happen again.
  const withFalls = fall === 0 ? perDay : (last.usage - first.usage - fall) / days
  const perDayHigh = Math.max(weeks + SOONER * luck, slope(first, last), ...recent.map(({ high }) => high))
  return {
    perDay: short(perDay),
    perDayLow: short(Math.min(weeks - LATER * luck, withFalls, ...recent.map(({ low }) => low))),
    perDayHigh: short(perDayHigh),
    leap: short(leapOf(points, perDay)),
    bend: short(bendOf(points, perDayHigh)),
  }
}

/** Four digits: far more than any forecast is good for. */
function short(number: number): number {
  return Number(number.toPrecision(4))
}

/** The median of the slopes between all pairs of days that are not too far apart: a few odd days can't move it. */
function medianPace(points: readonly DailyPoint[], apart: number): number {
  const slopes = new Float64Array((points.length * (points.length - 1)) / 2)
  let count = 0
  for (const [n, to] of points.entries()) {
    for (const from of points.slice(0, n)) if (to.day - from.day <= apart) slopes[count++] = slope(from, to)
  }
  const sorted = slopes.subarray(0, count).sort()
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}

/**
 * How far chance may have moved the pace: usage is a count, so good and bad luck add up from day to day. It is measured
 * by whole weeks, in which weekdays cancel out.
 */
function luckOf(points: readonly DailyPoint[], perDay: number, days: number): number {
  const span = Math.min(WEEK_DAYS, Math.floor(days / 3))
  const beside = points.flatMap((to) => {
    const from = points.findLast(({ day }) => to.day - day >= span)
    return from === undefined ? [] : [besidePace(from, to, perDay) / Math.sqrt(to.day - from.day)]
  })
  beside.sort((a, b) => a - b)
  return ((beside[Math.floor(USUAL * beside.length)] ?? 0) * widerFor(days / span)) / Math.sqrt(days)
}

/** The pace of the last days, in the range that their own scatter gives it; none where too few were read to have one. */
function recentPace(points: readonly DailyPoint[], days: number) {
  const until = points.at(-1)?.day ?? 0
  const last = points.filter(({ day }) => day >= until - days)
  const steps = last.slice(1).map((to, n) => slope(last[n] as DailyPoint, to))
  const freedom = steps.length - 1
  if (freedom < 2) return []
  const mean = steps.reduce((sum, step) => sum + step, 0) / steps.length
  const variance = steps.reduce((sum, step) => sum + (step - mean) ** 2, 0) / steps.length
  // Eight of ten means of the normal distribution lie so near.
  const half = 1.28 * widerFor(freedom) * Math.sqrt(variance / freedom)
  return [{ mean, low: mean - half, high: mean + half }]
}

/** How much wider a range is that so few tell of, about as Student has it. */
function widerFor(count: number): number {
  return 1 + 1 / count
}

function deepestFall(points: readonly DailyPoint[]): number {
  let [highest, fall] = [0, 0]
  for (const { usage } of points) {
    highest = Math.max(highest, usage)
    fall = Math.max(fall, highest - usage)
  }
  return fall
}

/** The largest step but one, beside the pace: the largest may be one of its kind. What the next day takes back is none. */
function leapOf(points: readonly DailyPoint[], perDay: number): number {
  const steps = points.slice(1).map((to, n) => {
    const from = points[n] as DailyPoint
    return Math.min(besidePace(from, to, perDay), besidePace(from, points[n + 2] ?? to, perDay))
  })
  return steps.sort((a, b) => b - a)[1] ?? 0
}

/** By what share the pace changed from day to day, by the older and the newer half of them. */
function bendOf(points: readonly DailyPoint[], perDayHigh: number): number {
  const [first, last] = [points[0], points.at(-1)] as [DailyPoint, DailyPoint]
  const middle = points[(points.length - 1) >> 1] as DailyPoint
  const [older, newer] = [slope(first, middle), slope(middle, last)]
  // Growth that has just begun shows no bend yet: it may as well be by a share of usage, as with interest.
  if (older <= 0 || newer <= 0) return perDayHigh / Math.max(1, last.usage)
  return (SHARPER * Math.log(newer / older)) / ((last.day - first.day) / 2)
}

function slope(from: DailyPoint, to: DailyPoint): number {
  return (to.usage - from.usage) / (to.day - from.day)
}

function besidePace(from: DailyPoint, to: DailyPoint, perDay: number): number {
  return Math.abs(to.usage - from.usage - perDay * (to.day - from.day))
}

/** Days until usage reaches the limit, 0 at or over it; undefined where it is not in sight. */
export function daysLeft(usage: number, limit: number, pace: Forecast): DaysLeft | undefined {
  if (usage >= limit) return { days: 0, earliest: 0, latest: 0 }
  const { perDay, perDayLow, perDayHigh, leap, bend } = pace
  const left = limit - usage
  if (left / perDay > HORIZON_DAYS) return undefined
  const earliest = daysAlong(perDayHigh, Math.max(0, bend), Math.max(0, left - leap))
  // Usage may stand a leap above its pace, or half of one on the average.
  const latest = daysAlong(perDayLow, Math.min(0, bend), left + leap / 2)
  return { days: left / perDay, earliest, latest: latest > LATEST_DAYS ? null : latest }
}

/** Days until usage has come so far; infinite where the pace ends before. */
function daysAlong(perDay: number, bend: number, far: number): number {
  if (perDay <= 0) return Number.POSITIVE_INFINITY
  return bend === 0 ? far / perDay : Math.log1p(Math.max(-1, (bend * far) / perDay)) / bend
}
