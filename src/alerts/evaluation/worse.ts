import { metricKind } from '../../limits/reports/all-reports.ts'
import type { Series } from '../../limits/series.ts'
import { defined } from '../../runtime/defined.ts'
import type { Acknowledged, SentBefore, SeriesState } from '../alert-state.ts'
import type { Level } from './rules.ts'

/** The values of a series at a moment; unknown ones are absent. */
export type ReadingValues = Pick<Acknowledged, 'usage' | 'percent' | 'remaining'>

type Reading = Pick<Series, 'usage' | 'limit' | 'percent'>

/**
 * From when on a reading at the level in force is sent as worse, ms; undefined where it is not: it must be worse than the
 * last message had, and, once the alert was acknowledged, worse than it was then. So an acknowledged alert sends at most
 * what it would send otherwise.
 */
export function worseFrom(
  { lastSent, sentAt }: SeriesState,
  series: Series,
  level: Level | undefined,
  { worseAfterMs, acknowledged }: { worseAfterMs?: number | undefined; acknowledged?: Acknowledged | undefined },
): number | undefined {
  if (worseAfterMs === undefined || lastSent === null) return undefined
  const asksRemaining = level?.remaining !== undefined
  const isNews = (then: ReadingValues) => isWorse(then, series, asksRemaining)
  return isNews(readingValues(asReading(lastSent))) && (acknowledged === undefined || isNews(acknowledged))
    ? sentAt + worseAfterMs
    : undefined
}

/** Percentage points that are news. */
const WORSE_POINTS = 5
/** Shares of a limit are not quite exact. */
const HAIR = 1e-9

/**
 * Worse by points of the limit; for a level that asks what remains, also by half of that; without a limit by any rise.
 * Records near their limit come and go: only one that reaches it is news.
 */
function isWorse(then: ReadingValues, { metric, usage, limit, percent }: Series, asksRemaining: boolean): boolean {
  if (percent === null || then.percent === undefined) {
    return metricKind(metric)?.counts !== 'near' && then.usage !== undefined && usage > then.usage
  }
  if (percent - then.percent >= WORSE_POINTS - HAIR) return true
  const was = then.remaining
  return asksRemaining && limit !== null && was !== undefined && was > 0 && limit - usage <= was / 2
}

/** The values of a message as a reading. */
export function asReading({ usage, limit }: SentBefore): Reading {
  return limit === undefined ? { usage, limit: null, percent: null } : { usage, limit, percent: (usage * 100) / limit }
}

export function readingValues({ usage, limit, percent }: Reading): ReadingValues {
  return { usage, ...defined({ percent: percent ?? undefined, remaining: limit === null ? undefined : limit - usage }) }
}
