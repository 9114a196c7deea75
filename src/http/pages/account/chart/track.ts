import type { Timeline, TimelinePoll } from '../../../../limits/history/history.ts'

/** Usage and limit of a series, unchanged from one moment to another. Times are ms. */
export interface Stand {
  from: number
  to: number
  usage: number
  limit: number | null
}

/** A series over a time: runs of stands without a break in each. Between two runs nothing was read, or it did not exist. */
export type Track = readonly (readonly Stand[])[]

/** A time in which nothing was read, ms. */
export interface Gap {
  from: number
  to: number
}

export interface TrackSpan {
  from: number
  to: number
}

/** How a series moved within a span that ends when it was read last. */
export function trackOf(timeline: Timeline, gaps: readonly Gap[], seriesId: string, span: TrackSpan): Track {
  const stretches = timeline.series.get(seriesId) ?? []
  const knownFrom = timeline.polls[0]?.at ?? timeline.readAt
  const stands: Stand[] = []
  for (const [n, { from, value }] of stretches.entries()) {
    const until = stretches[n + 1]?.from ?? Number.POSITIVE_INFINITY
    const stand = { from: Math.max(from, knownFrom, span.from), to: Math.min(until, span.to) }
    // A reading of this moment has lasted for no time yet.
    if (value !== undefined && stand.from < until && stand.from <= stand.to)
      stands.push(...outsideGaps({ ...stand, ...value }, gaps))
  }
  return runsOf(stands)
}

export function gapsOf(polls: readonly TimelinePoll[]): Gap[] {
  return polls.flatMap(({ at, missingSince }) => (missingSince === undefined ? [] : [{ from: missingSince, to: at }]))
}

/** The parts of a stand in which something was read; one may be a single moment. */
function outsideGaps(stand: Stand, gaps: readonly Gap[]): Stand[] {
  const parts: Stand[] = []
  let { from } = stand
  for (const gap of gaps) {
    if (gap.to <= from || gap.from >= stand.to) continue
    if (gap.from >= from) parts.push({ ...stand, from, to: gap.from })
    from = gap.to
  }
  return from < stand.to || from === stand.from ? [...parts, { ...stand, from }] : parts
}

function runsOf(stands: readonly Stand[]): Track {
  const runs: Stand[][] = []
  for (const stand of stands) {
    const run = runs.at(-1)
    if (run !== undefined && run.at(-1)?.to === stand.from) run.push(stand)
    else runs.push([stand])
  }
  return runs
}

/**
 * The same with fewer stands: of those that begin in one slot the first of a run, the highest and the last, and each that
 * moves the limit. So a crossing is never left out, and each slot ends as it did.
 */
export function thinned(track: Track, slotMs: number): Track {
  return slotMs === 0 ? track : track.map((run) => thinnedRun(run, slotMs))
}

function thinnedRun(run: readonly Stand[], slotMs: number): readonly Stand[] {
  const slotOf = ({ from }: Stand) => Math.floor(from / slotMs)
  const highest = new Map<number, Stand>()
  for (const stand of run) {
    const so = highest.get(slotOf(stand))
    if (so === undefined || stand.usage > so.usage) highest.set(slotOf(stand), stand)
  }
  const kept = run.filter((stand, n) => {
    const [before, next] = [run[n - 1], run[n + 1]]
    if (before === undefined || next === undefined || slotOf(next) !== slotOf(stand)) return true
    return stand.limit !== before.limit || highest.get(slotOf(stand)) === stand
  })
  return kept.map((stand, n) => ({ ...stand, to: kept[n + 1]?.from ?? stand.to }))
}
