import { type Bends, bendsOf, daysAlong } from './bend.ts'
import { type DailyPoint, meanPace, steadyPace, stepsOf, stepsWithin, type UsagePace } from './pace.ts'

/** The pace of a series, and what may come between it and its limit. What is absent does not. */
export interface Forecast extends UsagePace {
  /** How the pace may change from day to day. */
  bends?: Bends
  /** How much may be added at once, beyond the pace. */
  leap?: number
}

/** Days from now until the limit. */
export interface DaysLeft {
  days: number
  /** At the high and the low end of the range; `latest` null: further ahead than any forecast. */
  earliest: number
  latest: number | null
}

export type NoDaysLeft = 'no-limit' | 'no-growth' | 'not-in-sight'

/**
 * The long window: six whole weeks. Whole ones, because people work on weekdays and each weekday must count equally often;
 * six, because fewer let one busy week decide, and more show the pace of last season.
 */
export const WINDOW_DAYS = 42
/**
 * The short window, for a new pace, which the long one shows only after some three tenths of it: a whole week too, or each
 * weekend would be a change. A change within the week is diluted in its mean, so the pace of its last three days counts beside
 * it, the fewest that have a scatter.
 */
const WEEK_DAYS = 7
const LAST_DAYS = 3
/** Daily points that a forecast needs, and so days too: fewer make no week. Gaps just take away points. */
export const ENOUGH_POINTS = 7
/** Three years. A pace does not last longer: then no limit is in sight. */
export const HORIZON_DAYS = 1095
/** Further ahead than that no pace is sure to last: it was watched for half as long. Then there is no later end. */
const LATEST_DAYS = 2 * WINDOW_DAYS

/**
 * How fast a series rises, where it does so for sure: a pace that may as well be chance foretells nothing.
 *
 * @param points oldest first, a day at most once
 */
export function forecast(points: readonly DailyPoint[]): Forecast | 'not-enough-history' | 'no-growth' {
  if (points.length < ENOUGH_POINTS) return 'not-enough-history'
  const pace = paceOfBoth(points)
  if (pace === undefined) return 'no-growth'
  const [bends, leap] = [bendsOf(points, pace), leapOf(points, pace.perDay)]
  return {
    ...pace,
    perDayLow: Math.min(pace.perDayLow, paceWithFalls(points)),
    ...(bends === undefined ? {} : { bends }),
    ...(leap > 0 ? { leap } : {}),
  }
}

/** The largest step but one, beyond the pace: as much may be added tomorrow. The largest may be one of its kind. */
function leapOf(points: readonly DailyPoint[], perDay: number): number {
  const beyond = stepsWithin(points).map(({ change, days }) => change - perDay * days)
  return beyond.sort((a, b) => b - a)[1] ?? 0
}

/**
 * The pace less the falls: a cleaning that happened once will happen again, so the deepest fall counts once more. No
 * fall, no limit to the pace.
 */
function paceWithFalls(points: readonly DailyPoint[]): number {
  const [first, last] = [points[0], points.at(-1)] as [DailyPoint, DailyPoint]
  let [highest, fall] = [first.usage, 0]
  for (const { usage } of points) {
    highest = Math.max(highest, usage)
    fall = Math.max(fall, highest - usage)
  }
  return fall === 0 ? Number.POSITIVE_INFINITY : (last.usage - first.usage - fall) / (last.day - first.day)
}

/**
 * Pace of the long window, and of the short one where its range lies apart from the long one's pace. Then the sooner
 * end decides, since the new pace may last, and the range holds both, since it may not. Undefined where neither rises,
 * and where usage falls now, even if it rose before.
 */
function paceOfBoth(points: readonly DailyPoint[]): UsagePace | undefined {
  const long = steadyPace(points)
  const { week, last } = recentPaces(points)
  const isFaster = week !== undefined && week.perDayLow > Math.max(0, long.perDay)
  const isSlower = week !== undefined && week.perDayHigh < long.perDay
  if (!isFaster && (long.perDayLow <= 0 || (week?.perDayHigh ?? 0) < 0)) return undefined
  if (!isFaster && !isSlower) return long
  const both = [long, week, last].filter((pace) => pace !== undefined)
  return {
    perDay: isFaster ? Math.max(...both.map(({ perDay }) => perDay)) : long.perDay,
    perDayLow: Math.min(...both.map(({ perDayLow }) => perDayLow)),
    perDayHigh: Math.max(...both.map(({ perDayHigh }) => perDayHigh)),
    scatter: long.scatter,
  }
}

function recentPaces(points: readonly DailyPoint[]) {
  const steps = stepsOf(points)
  const until = points.at(-1)?.day ?? 0
  const since = (days: number) => meanPace(steps.filter(({ day }) => day > until - days))
  return { week: since(WEEK_DAYS), last: since(LAST_DAYS) }
}

/** Days until usage reaches the limit: 0 at or over it, with or without a forecast. */
export function daysLeft(usage: number, limit: number | null, pace: Forecast | undefined): DaysLeft | NoDaysLeft {
  if (limit === null) return 'no-limit'
  if (usage >= limit) return { days: 0, earliest: 0, latest: 0 }
  if (pace === undefined) return 'no-growth'
  const remaining = limit - usage
  const days = remaining / pace.perDay
  if (days > HORIZON_DAYS) return 'not-in-sight'
  const [earliest, latest] = [earliestOf(Math.max(0, remaining - (pace.leap ?? 0)), pace), latestOf(remaining, pace)]
  return { days, earliest, latest: latest > LATEST_DAYS ? null : latest }
}

function earliestOf(remaining: number, pace: Forecast): number {
  if (remaining === 0) return 0
  const { earliest } = reachRange(remaining, pace)
  return pace.bends === undefined ? earliest : Math.min(earliest, daysAlong(pace.bends.quickening, remaining))
}

function latestOf(remaining: number, pace: Forecast): number {
  const { latest } = reachRange(remaining, pace)
  return pace.bends === undefined ? latest : Math.max(latest, daysAlong(pace.bends.slowing, remaining))
}

/**
 * The soonest and the latest moment at which usage gets that far. Both allow for the uncertain pace, which grows with
 * the days, and for chance, which grows with their root: t with (remaining - pace * t)^2 = (range * t)^2 + scatter^2 *
 * t.
 */
function reachRange(remaining: number, { perDay, perDayLow, perDayHigh, scatter }: UsagePace) {
  const chance = scatter ** 2
  const middle = 2 * remaining * perDay + chance
  const beside = (range: number) => Math.sqrt(chance ** 2 + 4 * remaining * (perDay * chance + remaining * range ** 2))
  const slower = perDay - perDayLow
  return {
    earliest: (2 * remaining ** 2) / (middle + beside(perDayHigh - perDay)),
    latest: perDayLow > 0 ? (middle + beside(slower)) / (2 * (perDay ** 2 - slower ** 2)) : Number.POSITIVE_INFINITY,
  }
}
