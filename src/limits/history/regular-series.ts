import type { Snapshot } from './history.ts'
import { knownUntil, spanOf, type Zones } from './thin-out.ts'

export type Regular = 'hourly' | 'daily'

/** Which part of an account's history is wanted, ms. */
export interface Range {
  from: number
  to: number
  /** For so long the last snapshot counts as the present: nothing was read after that. */
  readUntil: number
}

/**
 * The values at the end of each hour or day (UTC) of a range, oldest first; of the one that is still running, as
 * they are at `to`. Nothing is invented: there is none before the first snapshot, none for an hour or day in which
 * nothing was read, one a day where the history knows no hours (before `hourlyFrom`), and where it knows only ends of hours
 * or days (before `rawFrom`), none for one that `to` cuts short.
 *
 * `snapshots` are those at each change, oldest first, from the values at `from` on - and beyond `to`, because only
 * the one that ends a gap records it.
 */
export function* regularSeries(
  snapshots: readonly Snapshot[],
  { from, to: asked, readUntil }: Range,
  resolution: Regular,
  zones: Pick<Zones, 'rawFrom' | 'hourlyFrom'>,
): Generator<Snapshot> {
  const to = knownUntil(asked, zones)
  // What is known may end before the range begins: an hour's end before `from` is nothing that was asked for.
  if (to < from) return
  let next = 0
  let standing: Snapshot | undefined
  let span = spanOf(Math.max(from, snapshots[0]?.at ?? to), resolution, zones)
  for (; span.start < to && span.start <= readUntil; span = spanOf(span.end, resolution, zones)) {
    const { start, end } = span
    let gap: number | undefined
    for (let one = snapshots[next]; one !== undefined && one.at < end && one.at <= to; one = snapshots[++next]) {
      standing = one
      if (one.at >= start) gap ??= gapBefore(one, start)
    }
    const ending = snapshots[next]
    if (standing === undefined || (ending !== undefined && gapBefore(ending, start) !== undefined)) continue
    yield { at: Math.min(end, to), ...(gap === undefined ? {} : { missingSince: gap }), series: standing.series }
  }
}

/** Since when nothing had been read, where that began before a moment: a gap within an hour or day does not count there. */
function gapBefore({ missingSince }: Snapshot, start: number): number | undefined {
  return missingSince !== undefined && missingSince < start ? missingSince : undefined
}
