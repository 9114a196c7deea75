import { type Change, sameValue, undo, type Value } from './change.ts'
import type { Snapshot } from './history.ts'

/** How long an account's record is kept at each resolution, ms. In any order: what is kept longer wins. */
export interface Retention {
  rawMs: number
  hourlyMs: number
  dailyMs: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** From which moment on there is every change, one an hour, one a day (UTC); what is older is cut off. */
interface Zones {
  rawFrom: number
  hourlyFrom: number
  dailyFrom: number
}

/** The zones begin with a whole hour or day, so that none is thinned out half. */
export function zonesOf(now: number, { rawMs, hourlyMs, dailyMs }: Retention): Zones {
  const hourlyKept = Math.max(rawMs, hourlyMs)
  return {
    rawFrom: startOf(now - rawMs, HOUR_MS),
    hourlyFrom: startOf(now - hourlyKept, DAY_MS),
    dailyFrom: startOf(now - Math.max(hourlyKept, dailyMs), DAY_MS),
  }
}

/** The hour or day, from its start to just before its end. */
export interface RetainedSpan {
  start: number
  end: number
}

/** The hour or day (UTC) that a moment lies in: a day where hours are no longer kept. */
export function spanOf(
  at: number,
  resolution: 'hourly' | 'daily',
  { hourlyFrom }: Pick<Zones, 'hourlyFrom'>,
): RetainedSpan {
  const spanMs = resolution === 'hourly' && at >= hourlyFrom ? HOUR_MS : DAY_MS
  const start = startOf(at, spanMs)
  return { start, end: start + spanMs }
}

/** The last moment until `to` with known values: an end of an hour or day where only those are kept. */
function coveredUntil(to: number, { rawFrom, hourlyFrom }: Pick<Zones, 'rawFrom' | 'hourlyFrom'>): number {
  if (to >= rawFrom) return to
  return startOf(to, to >= hourlyFrom ? HOUR_MS : DAY_MS)
}

function startOf(at: number, spanMs: number): number {
  return Math.floor(at / spanMs) * spanMs
}

/** The values of all series of an account, by their ids. */
export type State = Iterable<readonly [seriesId: string, value: Value]>

/**
 * An account's changes, oldest first, with less detail the older they are: at the end of every hour, later of every day,
 * all values read back as they were. It goes back from `state`, the values after the last change, because a series
 * that is back where it was drops out. To do it again, or in many small steps, comes to the same: hours become days here
 * too.
 */
export function thinOut(state: State, changes: readonly Change[], now: number, keep: Retention): Change[] {
  const { rawFrom, hourlyFrom, dailyFrom } = zonesOf(now, keep)
  const hourly = oneEach(HOUR_MS, rawFrom, state, changes)
  return cutOff(oneEach(DAY_MS, hourlyFrom, state, hourly), dailyFrom)
}

/** Changes before `until` become one for each span; later ones stay. */
function oneEach(spanMs: number, until: number, state: State, changes: readonly Change[]): Change[] {
  const after = new Map(state)
  const thinned: Change[] = []
  for (let end = changes.length; end > 0; ) {
    const at = changes[end - 1]?.at ?? 0
    const start = startOf(at, spanMs)
    let first = end - 1
    while (at < until && first > 0 && (changes[first - 1]?.at ?? 0) >= start) first--
    const alike = changes.slice(first, end)
    thinned.push(...(at < until ? merged(alike, start, after, first === 0) : alike))
    for (const change of alike.reverse()) undo(after, change)
    end = first
  }
  return thinned.reverse()
}

/** One change for all from the start of an hour or day up to the last one in it, or none where nothing changed. */
function merged(
  alike: readonly Change[],
  start: number,
  after: ReadonlyMap<string, Value>,
  isOldest: boolean,
): Change[] {
  // The oldest `before` counts: it has the values before all of them.
  const first = new Map(alike.toReversed().flatMap((change) => change.before))
  const before = [...first].filter(([id, was]) => !sameValue(was, after.get(id)))
  // A gap that began earlier is still one at this resolution: nothing was read from then until this hour or day.
  const gaps = alike.flatMap(({ missingSince }) => missingSince ?? []).filter((since) => since < start)
  // The oldest stays even if it is empty: it is where the record begins.
  if (before.length === 0 && gaps.length === 0 && !isOldest) return []
  const at = alike.at(-1)?.at ?? start
  return [{ at, ...(gaps.length === 0 ? {} : { missingSince: Math.min(...gaps) }), before }]
}

/** Without what is older; but for the last of it, which has the values at the beginning of what is kept. */
function cutOff(changes: Change[], from: number): Change[] {
  const kept = changes.findIndex(({ at }) => at >= from)
  const base = (kept === -1 ? changes.length : kept) - 1
  return changes.slice(Math.max(0, base))
}

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
  const to = coveredUntil(asked, zones)
  // The readings may end before the range begins: an hour's end before `from` was not asked for.
  if (to < from) return
  let next = 0
  let current: Snapshot | undefined
  let span = spanOf(Math.max(from, snapshots[0]?.at ?? to), resolution, zones)
  for (; span.start < to && span.start <= readUntil; span = spanOf(span.end, resolution, zones)) {
    const { start, end } = span
    let gap: number | undefined
    for (let one = snapshots[next]; one !== undefined && one.at < end && one.at <= to; one = snapshots[++next]) {
      current = one
      if (one.at >= start) gap ??= gapBefore(one, start)
    }
    const ending = snapshots[next]
    if (current === undefined || (ending !== undefined && gapBefore(ending, start) !== undefined)) continue
    yield { at: Math.min(end, to), ...(gap === undefined ? {} : { missingSince: gap }), series: current.series }
  }
}

/** Since when nothing had been read, where that began before a moment: a gap within an hour or day does not count there. */
function gapBefore({ missingSince }: Snapshot, start: number): number | undefined {
  return missingSince !== undefined && missingSince < start ? missingSince : undefined
}
