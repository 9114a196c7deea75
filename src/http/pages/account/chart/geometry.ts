import type { AlertLevel } from '../../../../alerts/alert.ts'
import type { Level } from '../../../../alerts/evaluation/rules.ts'
import type { DaysLeft } from '../../../../limits/forecast/forecast.ts'
import { roundStep, type Tick, timeTicks, valueTicks } from './ticks.ts'
import type { Gap, Stand, Track } from './track.ts'

/** Across, a chart is a thousand units wide, however wide it is shown; down, a unit is a pixel. */
export const WIDTH = 1_000
const DAY = 86_400_000
/** Least span of an axis that begins at the first reading: a chart of the last seconds would be all noise. */
const LEAST_SPAN = 60_000

/** Data of a chart. */
export interface ChartData {
  track: Track
  gaps: readonly Gap[]
  /** The span that was asked for, ms: it ends now. */
  from: number
  now: number
  levels: Partial<Record<AlertLevel, Level | undefined>>
  forecast: DaysLeft | null
  /** The unit that usage counts. */
  unit: string
  marks: readonly Mark[]
}

/** An event of a series' alert: it was opened or resolved, or an operator acknowledged it. */
export interface Mark {
  at: number
  is: AlertLevel | 'resolved' | 'acknowledged'
  says: string
}

/** The place of everything in the frame. Lines are paths of SVG. */
export interface Geometry {
  height: number
  usage: string
  limit: string
  warning: string
  critical: string
  /** The way to the limit, and the range it lies in. */
  forecast: { line: string; range: string } | undefined
  gaps: { x: number; width: number }[]
  /** Points where the limit moved. */
  moved: { x: number; y: number }[]
  marks: { x: number; mark: Mark }[]
  /** The last reading. */
  last: { x: number; y: number } | undefined
  now: number
  valueTicks: { y: number; value: number }[]
  timeTicks: { x: number; label: string }[]
  /** The number that the axis of values begins with; above 0 the axis is broken. */
  low: number
  x: (at: number) => number
}

export function geometryOf(data: ChartData, height: number): Geometry {
  const stands = data.track.flat()
  const frame = frameOf(data, stands, height)
  const { x, y, from, until, low, high } = frame
  const last = stands.at(-1)
  const line = (boundAt: (limit: number | null) => number | undefined) => boundLine(stands, boundAt, frame)
  return {
    height,
    low,
    x,
    usage: data.track.map((run) => runPath(run, frame)).join(''),
    limit: line((limit) => limit ?? undefined),
    warning: line((limit) => thresholdUsage(data.levels.warning, limit)),
    critical: line((limit) => thresholdUsage(data.levels.critical, limit)),
    forecast: last === undefined ? undefined : forecastOf(data, last, frame),
    gaps: data.gaps
      .filter((gap) => gap.to > from && gap.from < data.now)
      .map((gap) => ({ x: x(gap.from), width: round(x(gap.to) - x(gap.from)) })),
    moved: limitMoves(stands).map(({ at, limit }) => ({ x: x(at), y: y(limit) })),
    marks: data.marks.filter(({ at }) => at >= from && at <= until).map((mark) => ({ x: x(mark.at), mark })),
    last: last === undefined ? undefined : { x: x(last.to), y: y(last.usage) },
    now: x(data.now),
    valueTicks: valueTicks(low, high).map((value) => ({ y: y(value), value })),
    timeTicks: timeTicks(from, until).map(({ at, label }: Tick) => ({ x: x(at), label })),
  }
}

/** Turns a moment and a number into a place. Places outside are put on the edge. */
interface Frame {
  low: number
  high: number
  from: number
  until: number
  x: (at: number) => number
  y: (value: number) => number
}

/** The axis of time begins with the first reading, or with the span that was asked for where that is later. */
function frameOf({ from: asked, now, levels, forecast }: ChartData, stands: readonly Stand[], height: number): Frame {
  const bounds = stands.flatMap(({ usage, limit }) => [
    usage,
    ...(limit === null ? [] : [limit]),
    ...[levels.warning, levels.critical].flatMap((level) => thresholdUsage(level, limit) ?? []),
  ])
  const [least, most] = [bounds.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY), Math.max(1, maxOf(bounds))]
  const { low, high } = valueRange(Number.isFinite(least) ? least : 0, most)
  const from = Math.max(asked, Math.min(stands[0]?.from ?? asked, now - LEAST_SPAN))
  const until = now + aheadMs(now - from, forecast)
  const clamped = (share: number) => Math.min(1, Math.max(0, share))
  return {
    low,
    high,
    from,
    until,
    x: (at) => round(clamped((at - from) / (until - from)) * WIDTH),
    y: (value) => round((1 - clamped((value - low) / (high - low))) * height),
  }
}

function maxOf(values: readonly number[]): number {
  return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
}

/** From 0, unless all that there is to see lies in the upper part: then from a round number below it. */
function valueRange(least: number, most: number): { low: number; high: number } {
  const spread = most - least
  const step = roundStep(spread / 4)
  const low = least > 0.6 * most ? Math.max(0, Math.floor((least - 0.2 * spread) / step) * step) : 0
  return { low: low < most ? low : 0, high: most + 0.06 * (most - low) }
}

/** Room for the forecast: enough to reach the limit, but not more than half of the past. */
function aheadMs(pastMs: number, forecast: DaysLeft | null): number {
  if (forecast === null || forecast.days === 0) return 0.03 * pastMs
  const wanted = 1.1 * (forecast.latest ?? forecast.days) * DAY
  return Math.min(0.5 * pastMs, Math.max(0.1 * pastMs, wanted))
}

/**
 * The usage from which a level holds at a limit: the lowest of its conditions, as any of them will do. Undefined where none
 * is about usage: days left depend on the pace, and a percentage needs a limit.
 */
export function thresholdUsage(level: Level | undefined, limit: number | null): number | undefined {
  if (level === undefined) return undefined
  const { percent, count, remaining } = level
  const usages = [
    count,
    percent === undefined || limit === null ? undefined : (limit * percent) / 100,
    remaining === undefined || limit === null ? undefined : Math.max(0, limit - remaining),
  ].filter((usage) => usage !== undefined)
  return usages.length === 0 ? undefined : Math.min(...usages)
}

/**
 * Moments at which the limit changed. A limit that was unknown for a while, as where no record is near it, has not moved by
 * that.
 */
export function limitMoves(stands: readonly Stand[]): { at: number; limit: number }[] {
  const known = stands.flatMap(({ from, limit }) => (limit === null ? [] : [{ at: from, limit }]))
  return known.filter(({ limit }, n) => n > 0 && known[n - 1]?.limit !== limit)
}

/** A line across the whole chart, with a step wherever the limit moved. */
function boundLine(
  stands: readonly Stand[],
  boundAt: (limit: number | null) => number | undefined,
  { x, y }: Frame,
): string {
  const [first] = stands
  if (first === undefined) return ''
  const known = stands.find(({ limit }) => limit !== null)?.limit ?? null
  const begin = boundAt(known)
  if (begin === undefined) return ''
  const steps = limitMoves(stands).map(({ at, limit }) => `H${x(at)}V${y(boundAt(limit) ?? begin)}`)
  return `M0 ${y(begin)}${steps.join('')}H${WIDTH}`
}

function runPath(run: readonly Stand[], { x, y }: Frame): string {
  return run
    .map(({ from, to, usage }, n) => `${n === 0 ? `M${x(from)} ${y(usage)}` : `V${y(usage)}`}H${x(to)}`)
    .join('')
}

/** Straight from the last reading to the limit; a longer line ends at the edge. */
function forecastOf({ now, forecast }: ChartData, { usage, limit }: Stand, { x, y, until }: Frame) {
  if (forecast === null || forecast.days <= 0 || limit === null) return undefined
  const reach = (days: number) => {
    const end = now + days * DAY
    const share = Math.min(1, (until - now) / (end - now))
    return { x: x(Math.min(end, until)), y: y(usage + (limit - usage) * share) }
  }
  const [start, middle] = [`M${x(now)} ${y(usage)}`, reach(forecast.days)]
  const [early, late] = [
    reach(forecast.earliest),
    forecast.latest === null ? { x: x(until), y: y(usage) } : reach(forecast.latest),
  ]
  // Between the two ends the range reaches up to the limit.
  const corner = early.y <= y(limit) && late.y > y(limit) ? `L${x(until)} ${y(limit)}` : ''
  return {
    line: `${start}L${middle.x} ${middle.y}`,
    range: `${start}L${early.x} ${early.y}${corner}L${late.x} ${late.y}Z`,
  }
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}
