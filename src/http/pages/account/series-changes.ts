import type { Snapshot, SnapshotSeries } from '../../../limits/history/history.ts'
import type { SeriesName } from '../../../limits/series.ts'

/** One series that a poll found changed. */
export interface SeriesChange {
  at: number
  series: SeriesName
  /** Undefined: it was not there. */
  before: Amount | undefined
  after: Amount | undefined
}

export interface Amount {
  usage: number
  limit: number | null
}

/** What changed from snapshot to snapshot, newest first, up to `count`. The first snapshot is what there was before. */
export function seriesChanges(snapshots: readonly Snapshot[], count: number): SeriesChange[] {
  const changes: SeriesChange[] = []
  for (let n = snapshots.length - 1; n > 0 && changes.length < count; n--) {
    const [before, after] = [snapshots[n - 1], snapshots[n]]
    if (before !== undefined && after !== undefined) changes.push(...between(before, after))
  }
  return changes.slice(0, count)
}

function between(before: Snapshot, after: Snapshot): SeriesChange[] {
  const old = new Map(before.series.map((series) => [nameOf(series), series]))
  const changes: SeriesChange[] = []
  for (const series of after.series) {
    const was = old.get(nameOf(series))
    old.delete(nameOf(series))
    if (was === undefined || was.usage !== series.usage || was.limit !== series.limit) {
      changes.push({ at: after.at, series, before: was, after: series })
    }
  }
  for (const series of old.values()) changes.push({ at: after.at, series, before: series, after: undefined })
  return changes
}

function nameOf({ metric, objectTypeId, from, to }: SnapshotSeries): string {
  return JSON.stringify([metric, objectTypeId, from, to])
}
