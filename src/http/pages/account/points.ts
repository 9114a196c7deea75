import type { Value } from '../../../limits/history/change.ts'
import type { Timeline } from '../../../limits/history/history.ts'

/** The values of a series from a moment on, and the usage from which each level holds. Without usage nothing was read. */
export interface Point {
  at: number
  usage?: number | undefined
  limit?: number | undefined
  warning?: number | undefined
  critical?: number | undefined
}

/** A time in which nothing was read, ms. */
export interface Gap {
  from: number
  to: number
}

export function gapsOf({ polls }: Timeline): Gap[] {
  return polls.flatMap(({ at, missingSince }) => (missingSince === undefined ? [] : [{ from: missingSince, to: at }]))
}

/** Slots of a chart, about: more would not be visible. */
const SLOTS = 50

/** How a series moved between two moments, oldest first. */
export function pointsOf(timeline: Timeline, gaps: readonly Gap[], id: string, from: number, now: number): Point[] {
  const start = Math.max(from, timeline.polls[0]?.at ?? timeline.readAt)
  const moves: { at: number; value?: Value | undefined; isGap?: boolean }[] = [
    ...(timeline.series.get(id) ?? []).map(({ from: at, value }) => ({ at, value })),
    ...gaps.flatMap((gap) => [
      { at: gap.from, isGap: true },
      { at: gap.to, isGap: false },
    ]),
  ].toSorted((a, b) => a.at - b.at)
  let points: Point[] = []
  let current: Value | undefined
  let isMissing = false
  for (const { at, value, isGap } of moves) {
    if (at > now) break
    if (isGap === undefined) current = value
    else isMissing = isGap
    const read = isMissing || current === undefined ? {} : { usage: current.usage, limit: current.limit ?? undefined }
    // Only the last state before the start counts.
    if (at < start) points = []
    points.push({ at: Math.max(at, start), ...read })
  }
  return thinned(points, (now - start) / SLOTS)
}

/** Keeps the first point, the highest and the last of each slot, and each that begins a gap: no crossing is left out. */
function thinned(points: readonly Point[], slotMs: number): Point[] {
  const slotOf = ({ at }: Point) => Math.floor(at / slotMs)
  const highest = new Map<number, Point>()
  for (const point of points) {
    const { usage = -1 } = highest.get(slotOf(point)) ?? {}
    if (point.usage !== undefined && point.usage > usage) highest.set(slotOf(point), point)
  }
  return points.filter((point, n) => {
    const [before, next] = [points[n - 1], points[n + 1]]
    if (point.usage === undefined) {
      const isOver = next?.usage !== undefined && next.at === point.at
      return !isOver && (before === undefined || before.usage !== undefined)
    }
    return (
      before === undefined ||
      next?.usage === undefined ||
      slotOf(next) !== slotOf(point) ||
      highest.get(slotOf(point)) === point
    )
  })
}
