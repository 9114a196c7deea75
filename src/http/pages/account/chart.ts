import type { AlertLevel } from '../../../alerts/alert.ts'
import type { DaysLeft } from '../../../limits/forecast/forecast.ts'
import { daysLeftText, formatCount, formatSpan } from '../../../text/format-number.ts'
import { formatMoment, localOffset } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { htmlTable, nothing } from '../parts/tables.ts'
import type { Point } from './points.ts'

export interface ChartData {
  title: string
  unit: string
  /** Oldest first; each holds until the next one, the last one until now. */
  points: readonly Point[]
  now: number
  forecast: DaysLeft | null
}

type Value = 'usage' | 'limit' | 'critical' | 'warning'

/** Drawn in this order: the thin lines are on top, as usage at the limit would hide them. */
const VALUES: readonly Value[] = ['usage', 'limit', 'critical', 'warning']
/** Across, a plot is a thousand units wide, however wide it is shown; down, a unit is a pixel. */
const WIDTH = 1_000
/** Room for the names of times below the plot, px. */
const FOOT = 22
/** Room for half of a line at the top and at the bottom, px. */
const EDGE = 2
const MINUTE = 60_000
const DAY = 1_440 * MINUTE

/** A picture of how one series moved, and the same values as a table. Only the inner frame stretches: words keep their size. */
export function chart(data: ChartData, height: number, caption?: Html): Html {
  const { title, points, now } = data
  const last = points.findLast(({ usage }) => usage !== undefined)
  if (last === undefined) return html`<figure>${caption}${nothing('No data in this time.')}</figure>`
  const frame = frameOf(data, height)
  const { x, y } = frame
  const isRead = points.at(-1)?.usage !== undefined
  return html`<figure>
<figcaption>${caption}<p>${summary(data, last)}</p></figcaption>
<svg class="plot" height="${height + FOOT}" role="img" aria-label="${title}">
${valueTicks(frame).map((value) => html`<text x="-8" y="${y(value)}" dy="4" text-anchor="end">${formatCount(value)}</text>`)}
${timeTicks(frame).map(({ at, label }) => html`<text x="${x(at) / 10}%" y="${height + 17}" text-anchor="middle">${label}</text>`)}
<svg height="${height}" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none">
${gaps(points, frame)}
${valueTicks(frame).map((value) => html`<path class="grid" d="M0 ${y(value)}H${WIDTH}"/>`)}
${data.forecast === null ? undefined : forecastPart(data.forecast, last, now, frame)}
${linesOf(data).map((of) => html`<path class="${of}" d="${steps(points, of, of === 'usage' ? now : frame.until, frame)}"/>`)}
</svg>
${isRead ? html`<circle class="now" cx="${x(now) / 10}%" cy="${y(last.usage ?? 0)}" r="4"/>` : undefined}
</svg>
${legend(data, last)}
<details><summary>Values</summary>${valueTable(data)}</details>
</figure>`
}

/** The line of a series and its limit, for a cell of a table, beside its numbers. */
export function sparkline(points: readonly Point[], now: number, level?: AlertLevel): Html {
  const height = 24
  const frame = frameOf({ points, now, forecast: null }, height)
  return html`<svg class="spark ${level ?? ''}" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none" aria-hidden="true"><path class="limit" d="${steps(points, 'limit', now, frame)}"/><path class="usage" d="${steps(points, 'usage', now, frame)}"/></svg>`
}

/** `960 of 1,000 properties, up 240 in 30 days. 5 days left (3 to 7).` */
function summary({ points, unit, now, forecast }: ChartData, { usage = 0, limit }: Point): string {
  const first = points.find((point) => point.usage !== undefined)
  const change = usage - (first?.usage ?? usage)
  const since = now - (first?.at ?? now)
  const span = formatSpan(since)
  const rise = `${change > 0 ? 'up' : 'down'} ${formatCount(Math.abs(change))} in ${span}`
  const move = since < MINUTE ? '' : `, ${change === 0 ? `unchanged for ${span}` : rise}`
  const end = points.at(-1)
  return [
    `${formatCount(usage)}${limit === undefined ? '' : ` of ${formatCount(limit)}`} ${unit}${move}.`,
    ...(forecast === null ? [] : [`At this pace: ${daysLeftText(forecast.days, forecast)}.`]),
    ...(end?.usage === undefined ? [`No data since ${formatMoment(end?.at ?? now)}.`] : []),
  ].join(' ')
}

/** Turns a moment and a number into a place. */
interface Frame {
  from: number
  until: number
  low: number
  high: number
  x: (at: number) => number
  y: (value: number) => number
}

function frameOf({ points, now, forecast }: Pick<ChartData, 'points' | 'now' | 'forecast'>, height: number): Frame {
  const from = Math.min(points[0]?.at ?? now, now - MINUTE)
  const wantedAhead = forecast === null ? 0 : 1.1 * (forecast.latest ?? forecast.days) * DAY
  const until = now + Math.min(wantedAhead, (now - from) / 2)
  const values = points.flatMap((point) => VALUES.flatMap((of) => point[of] ?? []))
  const [least, most] = [Math.min(...values), Math.max(1, ...values)]
  const spread = most - least
  const step = roundStep(spread / 4)
  // From 0, unless all there is to see would lie in the upper part.
  const low = spread > 0 && least > 0.6 * most ? Math.floor(least / step) * step : 0
  const high = most + 0.1 * (most - low)
  return {
    from,
    until,
    low,
    high,
    x: (at) => tenths(((at - from) / (until - from)) * WIDTH),
    y: (value) => tenths(height - EDGE - ((value - low) / (high - low)) * (height - 2 * EDGE)),
  }
}

function linesOf({ points }: Pick<ChartData, 'points'>): Value[] {
  return VALUES.filter((of) => points.some(({ [of]: value }) => value !== undefined))
}

/** A line with a step at each point; it is broken where nothing was read. */
function steps(points: readonly Point[], of: Value, end: number, { x, y }: Frame): string {
  return points
    .map(({ at, [of]: value }, n) => {
      if (value === undefined) return ''
      const begin = points[n - 1]?.[of] === undefined ? `M${x(at)} ` : 'V'
      return `${begin}${y(value)}H${x(points[n + 1]?.at ?? end)}`
    })
    .join('')
}

function gaps(points: readonly Point[], { x, until }: Frame): Html {
  const found = points.flatMap(({ at, usage }, n) =>
    usage === undefined ? [{ from: x(at), to: x(points[n + 1]?.at ?? until) }] : [],
  )
  return html`${found.map(({ from, to }) => html`<rect class="gap" x="${from}" width="${tenths(to - from)}" height="100%"/>`)}`
}

/** From the last reading straight to the limit, and the range around it; the frame cuts off what is beyond. */
function forecastPart({ days, earliest, latest }: DaysLeft, { usage = 0, limit }: Point, now: number, frame: Frame) {
  if (limit === undefined || days <= 0) return undefined
  const { x, y, until } = frame
  const start = `M${x(now)} ${y(usage)}`
  const reach = (after: number) => `L${x(now + after * DAY)} ${y(limit)}`
  const late = latest === null ? `L${x(until)} ${y(limit)}L${x(until)} ${y(usage)}` : reach(latest)
  return html`<path class="range" opacity="0.15" d="${start}${reach(earliest)}${late}Z"/><path class="forecast" d="${start}${reach(days)}"/>`
}

/** The lines that are there, with their last values. */
function legend(data: ChartData, last: Point): Html {
  const value = (of: Value) => (last[of] === undefined ? '' : ` ${formatCount(Math.ceil(last[of]))}`)
  const entry = (shape: Html, text: string) => html`<li><svg aria-hidden="true">${shape}</svg>${text}</li>`
  const line = (of: string, text: string) => entry(html`<path class="${of}" d="M0 6h22"/>`, text)
  return html`<ul class="legend row">
${linesOf(data).map((of) => line(of, `${of}${value(of)}`))}
${data.forecast === null ? undefined : line('forecast', 'forecast')}
${data.points.some(({ usage }) => usage === undefined) ? entry(html`<rect class="gap" width="22" height="12"/>`, 'Gray: no data.') : undefined}</ul>`
}

function valueTable({ title, points }: ChartData): Html {
  const columns = ['From', { title: 'Usage', number: true }, { title: 'Limit', number: true }]
  const rows = points.map(({ at, usage, limit }) => [
    formatMoment(at),
    usage === undefined ? 'no data' : formatCount(usage),
    limit === undefined ? '' : formatCount(limit),
  ])
  return htmlTable(`Values of ${title}`, columns, rows.reverse())
}

/** About four round numbers; usage is a count, so none is between two whole ones. */
function valueTicks({ low, high }: Frame): number[] {
  const step = roundStep((high - low) / 4)
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, n) => (first + n) * step)
}

/** 1, 2 or 5 times a power of ten, at least 1. */
function roundStep(rough: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(rough)))
  return power * ([1, 2, 5].find((times) => times * power >= rough) ?? 10)
}

/** In minutes: up to 30 days. */
const TIME_STEPS = [0.5, 1, 5, 15, 60, 120, 360, 1_440, 2_880, 10_080, 20_160, 43_200]

/** At most five or six round times of the clock that people read, none so near to an edge that its name would be cut off. */
function timeTicks({ from, until }: Frame): { at: number; label: string }[] {
  const step = MINUTE * (TIME_STEPS.find((minutes) => (until - from) / MINUTE / minutes <= 5.5) ?? 129_600)
  const offset = localOffset(from)
  const edge = 0.06 * (until - from)
  const first = Math.ceil((from + edge + offset) / step)
  const last = Math.floor((until - edge + offset) / step)
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, n) => {
    const local = (first + n) * step
    const text = new Date(local).toUTCString()
    // The clock may be changed in between.
    return {
      at: local - localOffset(local - offset),
      label: local % DAY === 0 ? text.slice(5, 11).replace(/^0/, '') : text.slice(17, step < MINUTE ? 25 : 22),
    }
  })
}

function tenths(number: number): number {
  return Math.round(number * 10) / 10
}
