import type { Value } from '../../../limits/history/change.ts'
import type { Timeline } from '../../../limits/history/timeline.ts'

/** One series that a poll found changed. */
export interface SeriesChange {
  at: number
  seriesId: string
  /** Undefined: it was not there. */
  before: Value | undefined
  after: Value | undefined
}

/** What changed since a moment, newest first, up to `count`. What the very first poll found is no change. */
export function seriesChanges({ series, polls }: Timeline, since: number, count: number): SeriesChange[] {
  const first = polls[0]?.at ?? 0
  const changes = [...series].flatMap(([seriesId, stretches]) =>
    stretches.flatMap(({ from, value }, n) =>
      from >= since && from > first ? [{ at: from, seriesId, before: stretches[n - 1]?.value, after: value }] : [],
    ),
  )
  return changes.sort((a, b) => b.at - a.at).slice(0, count)
}
