import type { Series } from '../../limits/series.ts'
import type { AlertLevel, Condition, Quantity } from '../alert.ts'
import type { Level } from './rules.ts'

/** A series with what its pace foretells. */
export interface ForecastSeries extends Series {
  /** Until the limit; null where no end is in sight, undefined where there is no forecast. */
  daysLeft?: number | null | undefined
}

/** One condition of a level as a reading leaves it. */
export interface JudgedCondition {
  level: AlertLevel
  asks: Quantity
  threshold: number
  /** Undefined where it is not known; null where no limit is in sight. */
  value: number | null | undefined
  /** How far inside it must be left behind; 0 where the level is not in force. */
  margin: number
  /** `margin`: by that alone. */
  holds: 'outright' | 'margin' | 'no' | 'unknown'
}

/** How a level is to be judged: one that is in force is left later than it was entered. */
export interface LevelHold {
  inForce: boolean
  /** By a forecast alone. */
  isByForecast: boolean
  /** The rule's own margin, in the unit of its conditions. */
  ownMargin: number | undefined
  /** For percent, where the rule has none of its own. */
  percentMargin: number
}

export function judgeConditions(
  name: AlertLevel,
  level: Level | undefined,
  series: ForecastSeries,
  how: LevelHold,
): JudgedCondition[] {
  if (level === undefined) return []
  const { percent, count, remaining, daysLeft } = level
  const judged: JudgedCondition[] = []
  const add = (asks: Quantity, threshold: number, value: number | null | undefined) => {
    const margin = how.inForce ? marginOf(asks, threshold, how.ownMargin, how.percentMargin) : 0
    const holds = value === undefined ? missing(asks, how) : holdsBy(asks, threshold, value, margin)
    judged.push({ level: name, asks, threshold, value, margin, holds })
  }
  if (percent !== undefined) add('percent', percent, series.percent ?? undefined)
  if (count !== undefined) add('count', count, series.usage)
  if (remaining !== undefined) {
    add('remaining', remaining, series.limit === null ? undefined : series.limit - series.usage)
  }
  if (daysLeft !== undefined) add('daysLeft', daysLeft, series.daysLeft)
  return judged
}

/** Any condition is enough for a level. */
export function anyHolds(judged: readonly JudgedCondition[]): boolean | 'unknown' {
  if (judged.some(({ holds }) => holds === 'outright' || holds === 'margin')) return true
  return judged.some(({ holds }) => holds === 'unknown') ? 'unknown' : false
}

/**
 * A forecast that can't be made yet enters nothing, and leaves the decision to the other conditions. But a level that is
 * in force by a forecast alone is not left because there is none for now: nothing got better, an all-clear would be false,
 * and a fleet whose forecasts are late would send one for each of its alerts. It waits for the next forecast.
 */
function missing(asks: Quantity, { inForce, isByForecast }: LevelHold): 'unknown' | 'no' {
  return asks !== 'daysLeft' || (inForce && isByForecast) ? 'unknown' : 'no'
}

function holdsBy(asks: Quantity, threshold: number, value: number | null, margin: number): JudgedCondition['holds'] {
  if (value === null) return 'no'
  if (risesTo(asks) ? value >= threshold : value <= threshold) return 'outright'
  return (risesTo(asks) ? value >= threshold - margin : value <= threshold + margin) ? 'margin' : 'no'
}

/** The condition that holds a level: rather one that does so by itself than one that is merely not left. */
export function holding(judged: readonly JudgedCondition[]): JudgedCondition | undefined {
  return judged.find(({ holds }) => holds === 'outright') ?? judged.find(({ holds }) => holds === 'margin')
}

/** The condition with the least way to go. Their units differ, so the way counts as a share of its whole. */
export function nearest(judged: readonly JudgedCondition[]): (Condition & { away: number }) | undefined {
  const [first] = judged.flatMap(withDistance).sort((a, b) => a.share - b.share)
  if (first === undefined) return undefined
  const condition = conditionOf(first.condition)
  return { ...condition, away: hundredths(Math.abs(condition.threshold - condition.value)) }
}

function withDistance(condition: JudgedCondition): { condition: JudgedCondition; share: number }[] {
  const { asks, threshold, value } = condition
  if (value == null) return []
  const whole = risesTo(asks) ? threshold : value
  return [{ condition, share: whole > 0 ? Math.abs(threshold - value) / whole : 0 }]
}

/**
 * The condition as it is shown. A value short of its threshold is never rounded to it: that would read as another
 * state.
 */
export function conditionOf({ level, asks, threshold, value }: JudgedCondition): Condition {
  return { level, asks, threshold, value: rounded(threshold, value ?? Number.NaN) }
}

function rounded(threshold: number, value: number): number {
  const near = hundredths(value)
  if (value < threshold && near >= threshold) return Math.floor(value * 100) / 100
  return value > threshold && near <= threshold ? Math.ceil(value * 100) / 100 : near
}

function hundredths(number: number): number {
  return Math.round(number * 100) / 100
}

/** From here on one more or less of a count is no news. */
const LARGE_COUNT = 5

/**
 * How far inside its condition a level is left, in the condition's unit: the rule's own margin, or a general one, so that a
 * number that swings around a threshold is one alert.
 */
function marginOf(asks: Quantity, threshold: number, ownMargin: number | undefined, percentMargin: number): number {
  if (ownMargin !== undefined) return ownMargin
  switch (asks) {
    case 'percent':
      return percentMargin
    case 'count':
      return threshold < LARGE_COUNT ? 0 : 1
    case 'remaining':
      // For whole numbers: 10 % of the threshold, rounded down.
      return Math.max(1, Math.floor(threshold / 10))
    case 'daysLeft':
      return 1
  }
}

/** True where usage meets the condition from below as it grows. */
export function risesTo(asks: Quantity): boolean {
  return asks === 'percent' || asks === 'count'
}
