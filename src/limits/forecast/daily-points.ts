import type { Snapshot, SnapshotSeries } from '../history/history.ts'
import { type SeriesName, seriesId } from '../series.ts'

export const UTC_DAY_MS = 86_400_000

/** The value of a series at the end of one day. */
export interface DailyValue {
  /** UTC days since 1970-01-01 */
  day: number
  usage: number
  limit: number | null
}

export interface Span {
  /** The first day asked for, and the first one that is not. */
  from: number
  to: number
  /** How long after midnight (UTC) days begin and end, ms; midnight where it is left out. */
  offset?: number
  /** When a series was read last, ms: of a day that began after that nothing is known. */
  readUntil: (series: SeriesName) => number | undefined
}

/** The UTC day of a moment in ms. */
export function dayOf(at: number): number {
  return Math.floor(at / UTC_DAY_MS)
}

/**
 * The values of every series at the end of each day, by series, oldest first. A series that did not exist at the end of a
 * day has none for it, and so has a day that lies wholly in a gap: the value before the gap is no reading of that day.
 *
 * @param snapshots at changes, oldest first
 */
export function dailyPoints(
  snapshots: readonly Snapshot[],
  { from, to, offset = 0, readUntil }: Span,
): Map<string, DailyValue[]> {
  const points = new Map<string, DailyValue[]>()
  let next = 0
  for (let day = from; day < to; day++) {
    const start = day * UTC_DAY_MS + offset
    while ((snapshots[next]?.at ?? Number.POSITIVE_INFINITY) < start + UTC_DAY_MS) next++
    const standing = snapshots[next - 1]
    // Only the first snapshot after a day can have ended a gap that holds all of it.
    if (standing === undefined || (snapshots[next]?.missingSince ?? start) < start) continue
    for (const series of standing.series) {
      if ((readUntil(series) ?? Number.NEGATIVE_INFINITY) >= start) add(points, series, day)
    }
  }
  return points
}

function add(points: Map<string, DailyValue[]>, series: SnapshotSeries, day: number): void {
  const id = seriesId(series)
  const values = points.get(id) ?? []
  points.set(id, values)
  values.push({ day, usage: series.usage, limit: series.limit })
}
