import { parseSeriesId, type Series, type SeriesName } from '../series.ts'
import type { Change, Value } from './change.ts'
import { decodeRecord } from './history-record.ts'
import { UnreadableBytes } from './packed.ts'
import type { Standing } from './standing.ts'

/** All series of an account as they stood from `at` on. */
export interface Snapshot {
  at: number
  /** Nothing was read between this moment and `at`. */
  missingSince?: number
  series: SnapshotSeries[]
}

export type SnapshotSeries = Omit<Series, 'id' | 'label'>

/**
 * The changes that led to how things stand, newest first; `standing` is always as it was before the one that was given
 * last.
 *
 * @throws UnreadableBytes
 */
export function* changesBackward(standing: Standing, records: readonly Buffer[]): Generator<Change> {
  let newer = Number.POSITIVE_INFINITY
  for (let n = records.length - 1; n >= 0; n--) {
    const change = readRecord(records, n, standing)
    if (change.at >= newer) throw new UnreadableBytes(`change ${n + 1} is not older than the next`)
    newer = change.at
    yield change
  }
}

function readRecord(records: readonly Buffer[], n: number, standing: Standing): Change {
  try {
    return decodeRecord(records[n] as Buffer, standing)
  } catch (error) {
    if (!(error instanceof UnreadableBytes)) throw error
    throw new UnreadableBytes(`change ${n + 1} of ${records.length}: ${error.message}`)
  }
}

/**
 * One snapshot for each change from the last one at or before `from` until `to`, newest first.
 *
 * @throws UnreadableBytes
 */
export function snapshotsBackward(now: Standing, records: readonly Buffer[], from: number, to: number): Snapshot[] {
  const standing = now.copy()
  const found: Snapshot[] = []
  let values = new Map(standing.values)
  for (const change of changesBackward(standing, records)) {
    // Of a time when there was none of the series there is nothing to show.
    if (change.at <= to && values.size > 0) found.push(snapshotOf(change, values))
    if (change.at <= from) break
    values = new Map(standing.values)
  }
  return found
}

export function snapshotOf({ at, missingSince }: Omit<Change, 'before'>, values: ReadonlyMap<string, Value>): Snapshot {
  return {
    at,
    ...(missingSince === undefined ? {} : { missingSince }),
    series: [...values].map(([id, value]) => snapshotSeries(id, value)),
  }
}

function snapshotSeries(id: string, { usage, limit }: Value): SnapshotSeries {
  return {
    ...(parseSeriesId(id) as SeriesName),
    usage,
    limit,
    percent: limit === null ? null : (usage * 100) / limit,
  }
}
