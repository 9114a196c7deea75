import type { Alert } from '../alert.ts'

/** How an alert stood, or stands. */
type Standing = Pick<NonNullable<Alert['previous']>, 'level' | 'usage' | 'limit'>

/** Less is no news to somebody who looks once a day. */
const LEAST_POINTS = 1

/** By the level; where that is the same by whole points of fullness, or by the count where there is no limit. */
export function compareStanding(before: Standing, now: Standing): 'worse' | 'better' | 'same' {
  if (before.level !== now.level) return now.level === 'critical' ? 'worse' : 'better'
  if (before.usage === undefined || now.usage === undefined) return 'same'
  const [was, is] = [percentOf(before), percentOf(now)]
  if (was !== undefined && is !== undefined) return sign(is - was, LEAST_POINTS)
  return sign(now.usage - before.usage, 1)
}

function sign(change: number, least: number): 'worse' | 'better' | 'same' {
  // A point is a point, whatever a division made of it.
  if (Math.abs(change) < least - 1e-9) return 'same'
  return change > 0 ? 'worse' : 'better'
}

function percentOf({ usage, limit }: Standing): number | undefined {
  return usage === undefined || limit === undefined || limit === 0 ? undefined : (usage / limit) * 100
}
