import { type DailyPoint, meanPace, steadyPace, stepsOf, type UsagePace } from './pace.ts'

export interface Forecast extends UsagePace {
  /**
   * How fast usage grows as a share of itself, a day, at the high end of that range: where each day may add to what the next
   * one adds, as with interest. 0 where it is known not to.
   */
  shareHigh: number
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

/**
 * How fast a series rises, where it does so for sure: a pace that may as well be chance foretells nothing.
 *
 * Some weeks of counts do not show whether each day adds as much as the one before or the same share. Over days it
 * makes no difference, over months all of it; so the range holds both, unless the shares are seen to become smaller.
 *
 * @param points oldest first, a day at most once
 */
export function forecast(points: readonly DailyPoint[]): Forecast | 'not-enough-history' | 'no-growth' {
  if (points.length < ENOUGH_POINTS) return 'not-enough-history'
  const pace = paceOfBoth(points)
  if (pace === undefined) return 'no-growth'
  const logarithms = points.map(({ day, usage }) => ({ day, usage: Math.log(Math.max(1, usage)) }))
  const shares = stepsOf(logarithms)
  const [older, newer] = [meanPace(shares.slice(0, shares.length / 2)), meanPace(shares.slice(shares.length / 2))]
  const isSlowing = older !== undefined && newer !== undefined && newer.perDayHigh < older.perDayLow
  return { ...pace, shareHigh: isSlowing ? 0 : (paceOfBoth(logarithms)?.perDayHigh ?? 0) }
}

/**
 * Of the long window, and of the short one where that has a pace of its own: one whose range lies apart from the long one's
 * pace. Then the sooner end decides, since it may be the new pace that lasts, and the range holds both, since it may not.
 * Undefined where neither rises, and where usage falls now, even if it rose before.
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

/** When usage reaches the limit. At or over it it is 0, with or without a forecast. */
export function daysLeft(usage: number, limit: number | null, pace: Forecast | undefined): DaysLeft | NoDaysLeft {
  if (limit === null) return 'no-limit'
  if (usage >= limit) return { days: 0, earliest: 0, latest: 0 }
  if (pace === undefined) return 'no-growth'
  const remaining = limit - usage
  const days = remaining / pace.perDay
  if (days > HORIZON_DAYS) return 'not-in-sight'
  const { earliest, latest } = reachRange(remaining, pace)
  // A count of n may be any value up to n and a half: of few, a half is a large share.
  const byShares =
    pace.shareHigh > 0 ? Math.log(Math.max(1, limit / (usage + 0.5))) / pace.shareHigh : Number.POSITIVE_INFINITY
  return { days, earliest: Math.min(earliest, byShares), latest: latest > HORIZON_DAYS ? null : latest }
}

/**
 * When usage gets that far at the soonest and at the latest. Both do not know the pace, which grows with the days, and chance,
 * which grows with their root: t with (remaining - pace * t)^2 = (range * t)^2 + scatter^2 * t.
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
