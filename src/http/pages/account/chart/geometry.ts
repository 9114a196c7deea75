import type { AlertLevel } from '../../../../alerts/alert.ts'
import type { Level } from '../../../../alerts/evaluation/rules.ts'
import type { DaysLeft } from '../../../../limits/forecast/forecast.ts'
import { limitMoves } from './limit-moves.ts'
import { thresholdUsage } from './threshold-usage.ts'
import { roundStep, type Tick, timeTicks, valueTicks } from './ticks.ts'
import type { Gap, Stand, Track } from './track.ts'

/** Across, a chart is a thousand units wide, however wide it is shown; down, a unit is a pixel. */
export const WIDTH = 1_000
const DAY = 86_400_000

/** What a chart shows. */
export interface ChartData {
  track: Track
  gaps: readonly Gap[]
  /** The span that was asked for, ms: it ends now. */
  from: number
  now: number
  levels: Partial<Record<AlertLevel, Level | undefined>>
  forecast: DaysLeft | null
}

/** Where everything stands in the frame. Lines are paths of SVG. */
export interface Geometry {
  height: number
  usage: string
  limit: string
  warning: string
  critical: string
  /** The way to the limit, and the range it lies in. */
  forecast: { line: string; range: string } | undefined
  gaps: { x: number; width: number }[]
  /** Where the limit moved. */
  moved: { x: number; y: number }[]
  /** The last reading. */
  last: { x: number; y: number } | undefined
  now: number
  valueTicks: { y: number; value: number }[]
  timeTicks: { x: number; label: string }[]
}

export function geometryOf(data: ChartData, height: number): Geometry {
  const stands = data.track.flat()
  const frame = frameOf(data, stands, height)
  const steps = limitSteps(stands)
  const last = stands.at(-1)
  const line = (boundAt: (limit: number | null) => number | undefined) => stepLine(steps, boundAt, frame)
  return {
    height,
    usage: data.track.map((run) => runPath(run, frame)).join(''),
    limit: line((limit) => limit ?? undefined),
    warning: line((limit) => thresholdUsage(data.levels.warning, limit)),
    critical: line((limit) => thresholdUsage(data.levels.critical, limit)),
    forecast: last === undefined ? undefined : forecastOf(data, last, frame),
    gaps: gapsIn(data, frame),
    moved: limitMoves(stands).map(({ at, limit }) => ({ x: frame.x(at), y: frame.y(limit) })),
    last: last === undefined ? undefined : { x: frame.x(last.to), y: frame.y(last.usage) },
    now: frame.x(data.now),
    valueTicks: valueTicks(frame.low, frame.high).map((value) => ({ y: frame.y(value), value })),
    timeTicks: timeTicks(data.from, frame.until).map(({ at, label }: Tick) => ({ x: frame.x(at), label })),
  }
}

/** How a moment and a number become a place. Whatever lies outside is put on the edge. */
export interface Frame {
  low: number
  high: number
  until: number
  x: (at: number) => number
  y: (value: number) => number
}

function frameOf({ from, now, levels, forecast }: ChartData, stands: readonly Stand[], height: number): Frame {
  const bounds = stands.flatMap(({ usage, limit }) => [
    usage,
    ...(limit === null ? [] : [limit]),
    ...[levels.warning, levels.critical].flatMap((level) => thresholdUsage(level, limit) ?? []),
  ])
  const [least, most] = [bounds.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY), Math.max(1, maxOf(bounds))]
  const { low, high } = valueRange(Number.isFinite(least) ? least : 0, most)
  const until = now + aheadMs(now - from, forecast)
  const clamped = (share: number) => Math.min(1, Math.max(0, share))
  return {
    ...{ low, high, until },
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

/** Room for what is to come: enough for the forecast to reach the limit, but not more than half of what was. */
function aheadMs(pastMs: number, forecast: DaysLeft | null): number {
  if (forecast === null || forecast.days === 0) return 0.03 * pastMs
  const wanted = 1.1 * (forecast.latest ?? forecast.days) * DAY
  return Math.min(0.5 * pastMs, Math.max(0.1 * pastMs, wanted))
}

/** From when on which limit was in force, as far as it was read. */
function limitSteps(stands: readonly Stand[]): { at: number; limit: number | null }[] {
  return stands
    .filter(({ limit }, n) => n === 0 || stands[n - 1]?.limit !== limit)
    .map(({ from, limit }) => ({ at: from, limit }))
}

/** A line that goes on to the end of the chart, with a step wherever the limit moved. */
function stepLine(
  steps: ReturnType<typeof limitSteps>,
  boundAt: (limit: number | null) => number | undefined,
  { x, y, until }: Frame,
): string {
  let path = ''
  for (const [n, { at, limit }] of steps.entries()) {
    const value = boundAt(limit)
    if (value === undefined) continue
    const end = steps[n + 1]?.at ?? until
    const before = steps[n - 1]
    const joined = before !== undefined && boundAt(before.limit) !== undefined
    path += `${joined ? `V${y(value)}` : `M${x(at)} ${y(value)}`}H${x(end)}`
  }
  return path
}

function runPath(run: readonly Stand[], { x, y }: Frame): string {
  return run
    .map(({ from, to, usage }, n) => `${n === 0 ? `M${x(from)} ${y(usage)}` : `V${y(usage)}`}H${x(to)}`)
    .join('')
}

/** Straight from the last reading to the limit; what does not fit ends at the edge. */
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

function gapsIn({ gaps, from, now }: ChartData, { x }: Frame): Geometry['gaps'] {
  return gaps
    .filter((gap) => gap.to > from && gap.from < now)
    .map((gap) => ({ x: x(gap.from), width: round(x(gap.to) - x(gap.from)) }))
}

function round(number: number): number {
  return Math.round(number * 10) / 10
}
