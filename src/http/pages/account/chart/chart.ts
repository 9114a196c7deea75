import { formatCount } from '../../../../text/format-number.ts'
import { type Html, html } from '../../../../text/html.ts'
import { type ChartData, type Geometry, geometryOf, WIDTH } from './geometry.ts'
import { storyOf } from './story.ts'
import { thresholdUsage } from './threshold-usage.ts'

export interface Chart {
  /** Unique on its page. */
  id: string
  title: string
  data: ChartData
  /** Of the plot, in pixels. */
  height: number
  /** How long the chart's time is, as in `in 30 days`. */
  span: string
}

/** Below the plot, for the names of times. */
const FOOT = 22

/**
 * A chart of one series as a picture that needs no script. It is as wide as there is room: lines stretch across, words keep
 * their size, because only what stands in the inner frame is scaled.
 */
export function chart({ id, title, data, height, span }: Chart): Html {
  const geometry = geometryOf(data, height)
  return html`<div class="chart">
<svg class="axis" height="${height + FOOT}" aria-hidden="true">${geometry.valueTicks.map(
    ({ y, value }) => html`<text x="100%" y="${y}" dy="4" text-anchor="end">${formatCount(value)}</text>`,
  )}</svg>
<svg class="plot" height="${height + FOOT}" role="img" aria-labelledby="${id}-title" aria-describedby="${id}-story">
<title id="${id}-title">${title}</title>
<desc id="${id}-story">${storyOf(data, span)}</desc>
${grid(geometry)}
<svg width="100%" height="${height}" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none">
${lines(geometry)}
</svg>
${marks(geometry)}
</svg>
</div>
${legend(data, geometry)}`
}

function grid({ height, valueTicks, timeTicks, gaps, now }: Geometry): Html {
  return html`${gaps.map(({ x, width }) => html`<rect class="gap" x="${percent(x)}" width="${percent(width)}" y="0" height="${height}"/>`)}
${valueTicks.map(({ y }) => html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}"/>`)}
${timeTicks.map(({ x, label }) => html`<line class="grid" x1="${percent(x)}" x2="${percent(x)}" y1="${height}" y2="${height + 4}"/><text x="${percent(x)}" y="${height + 17}" text-anchor="${anchorAt(x)}">${label}</text>`)}
<line class="now" x1="${percent(now)}" x2="${percent(now)}" y1="0" y2="${height}"/>`
}

/** A word at an edge stands inside of it. */
function anchorAt(x: number): string {
  if (x < 0.05 * WIDTH) return 'start'
  return x > 0.95 * WIDTH ? 'end' : 'middle'
}

function lines({ usage, limit, warning, critical, forecast }: Geometry): Html {
  const line = (name: string, path: string) => (path === '' ? undefined : html`<path class="${name}" d="${path}"/>`)
  return html`${forecast === undefined ? undefined : html`<path class="range" d="${forecast.range}"/>`}
${line('warning', warning)}${line('critical', critical)}${line('limit', limit)}${line('usage', usage)}
${forecast === undefined ? undefined : line('forecast', forecast.line)}`
}

function marks({ moved, last }: Geometry): Html {
  return html`${moved.map(({ x, y }) => html`<circle class="moved" cx="${percent(x)}" cy="${y}" r="4"/>`)}
${last === undefined ? undefined : html`<circle class="last" cx="${percent(last.x)}" cy="${last.y}" r="4"/>`}`
}

/** What each line is, with the number that it stands at now. */
function legend({ track, levels }: ChartData, { warning, critical, limit, forecast, gaps, moved }: Geometry): Html {
  const last = track.flat().at(-1)
  const at = (usage: number | null | undefined) => (usage == null ? '' : ` ${formatCount(usage)}`)
  const bound = (level: 'warning' | 'critical') => at(thresholdUsage(levels[level], last?.limit ?? null))
  const entries = [
    ['usage', `usage${at(last?.usage)}`, last !== undefined],
    ['limit', `limit${at(last?.limit)}`, limit !== ''],
    ['critical', `critical${bound('critical')}`, critical !== ''],
    ['warning', `warning${bound('warning')}`, warning !== ''],
    ['forecast', 'forecast with its range', forecast !== undefined],
    ['moved', 'the limit moved', moved.length > 0],
    ['gap', 'nothing read', gaps.length > 0],
  ] as const
  const shown = entries.filter(([, , isThere]) => isThere)
  return html`<ul class="legend">${shown.map(([name, text]) => html`<li>${swatch(name)}${text}</li>`)}</ul>`
}

function swatch(name: string): Html {
  if (name === 'gap') return html`<svg aria-hidden="true"><rect class="gap" y="1" width="22" height="10"/></svg>`
  if (name === 'moved') return html`<svg aria-hidden="true"><circle class="moved" cx="11" cy="6" r="4"/></svg>`
  return html`<svg aria-hidden="true"><path class="${name}" d="M0 6h22"/></svg>`
}

/** Across the picture, whatever its width. */
function percent(x: number): string {
  return `${Math.round(x * 10) / 100}%`
}
