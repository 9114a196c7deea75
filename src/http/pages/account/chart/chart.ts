import type { AlertLevel } from '../../../../alerts/alert.ts'
import { countOf, formatCount } from '../../../../text/format-number.ts'
import { formatMoment } from '../../../../text/format-time.ts'
import { type Html, html } from '../../../../text/html.ts'
import { htmlTable, nothing } from '../../parts/tables.ts'
import { type ChartData, type Geometry, geometryOf, thresholdUsage, WIDTH } from './geometry.ts'
import { chartStory } from './story.ts'
import type { Track } from './track.ts'

export interface Chart {
  /** Unique on its page. */
  id: string
  title: string
  data: ChartData
  /** The same with fewer points: the numbers below the chart, which the read-out goes by, too. */
  numbers: Track
  /** Height of the plot, in pixels. */
  height: number
  /** How long the chart's time is, as in `in 30 days`. */
  span: string
  /** Address of all numbers, as CSV. */
  csv: string
}

/** Below the plot, for the names of times; above it, for the unit and the marks. */
const FOOT = 22
const HEAD = 20
/** Most rows of numbers below a chart. */
const MOST_ROWS = 300

/**
 * A chart of one series with its story and its numbers. The picture needs no script, and is as wide as there is room: lines
 * stretch across, words keep their size, because only the inner frame is scaled. With charts.js it has a read-out.
 */
export function chart({ id, title, data, numbers, height, span, csv }: Chart, caption?: Html): Html {
  const geometry = geometryOf(data, height)
  return html`<figure>
<figcaption>${caption}<p>${chartStory(data, span)}</p></figcaption>
<div class="chart" data-unit="${data.unit}">
<svg class="axis" height="${HEAD + height + FOOT}" aria-hidden="true"><text y="10">${data.unit}</text>
<svg y="${HEAD}" overflow="visible">${geometry.valueTicks.map(
    ({ y, value }) => html`<text x="100%" y="${y}" dy="4" text-anchor="end">${formatCount(value)}</text>`,
  )}</svg></svg>
<svg class="plot" height="${HEAD + height + FOOT}" role="img" aria-labelledby="${id}-title" aria-describedby="${id}-story">
<title id="${id}-title">${title}</title>
<desc id="${id}-story">${chartStory(data, span)}</desc>
<svg y="${HEAD}" width="100%" height="${height}" overflow="visible">
${grid(geometry)}
<svg class="lines" width="100%" height="${height}" viewBox="0 0 ${WIDTH} ${height}" preserveAspectRatio="none">
${lines(geometry)}
</svg>
${marks(geometry)}
</svg>
</svg>
</div>
${legend(data, geometry)}
<details><summary>The numbers</summary>
${numbersTable(`Numbers of ${title}`, numbers, geometry)}
<p><a href="${csv}">All of them as CSV</a></p></details>
</figure>`
}

function grid({ height, valueTicks, timeTicks, gaps, now, low }: Geometry): Html {
  return html`${gaps.map(({ x, width }) => html`<rect class="gap" x="${percent(x)}" width="${percent(width)}" y="0" height="${height}"/>`)}
${valueTicks.map(({ y }) => html`<line class="grid" x1="0" x2="100%" y1="${y}" y2="${y}"/>`)}
${timeTicks.map(({ x, label }) => html`<line class="grid" x1="${percent(x)}" x2="${percent(x)}" y1="${height}" y2="${height + 4}"/><text x="${percent(x)}" y="${height + 17}" text-anchor="${anchorAt(x)}">${label}</text>`)}
${low > 0 ? html`<path class="broken" d="M-7 ${height - 4}l4-5l6 6l4-5"/>` : undefined}
<line class="now" x1="${percent(now)}" x2="${percent(now)}" y1="0" y2="${height}"/>`
}

/** A word at an edge is inside of it. */
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

function marks({ moved, last, marks: alerts, height }: Geometry): Html {
  return html`${moved.map(({ x, y }) => html`<circle class="moved" cx="${percent(x)}" cy="${y}" r="4"/>`)}
${last === undefined ? undefined : html`<circle class="last" cx="${percent(last.x)}" cy="${last.y}" r="4"/>`}
${alerts.map(({ x, mark }) => html`<svg x="${percent(x)}" overflow="visible"><title>${mark.says}</title><path class="alert-line ${mark.is}" d="M0 0V${height}"/><path class="flag ${mark.is}" d="${FLAG[mark.is]}"/></svg>`)}`
}

/** Their shapes differ, for readers who do not see their colors apart. */
const FLAG = {
  critical: 'M-6-12h12l-6 11z',
  warning: 'M-6-1h12l-6-11z',
  resolved: 'M-6-6l6-6l6 6l-6 6z',
  acknowledged: 'M-5-11h10v10h-10z',
} as const

/** Legend of the lines, with their numbers now. */
function legend({ track, levels }: ChartData, geometry: Geometry): Html {
  const { warning, critical, limit, forecast, gaps, moved, marks: alerts, low } = geometry
  const last = track.flat().at(-1)
  const at = (usage: number | null | undefined) => (usage == null ? '' : ` ${formatCount(usage)}`)
  const bound = (level: AlertLevel) => at(thresholdUsage(levels[level], last?.limit ?? null))
  const flags = (['critical', 'warning', 'resolved', 'acknowledged'] as const)
    .filter((is) => alerts.some(({ mark }) => mark.is === is))
    .map(
      (is) =>
        [
          html`<path class="flag ${is}" transform="translate(11 13)" d="${FLAG[is]}"/>`,
          is === 'critical' || is === 'warning' ? `${is} alert` : is,
        ] as const,
    )
  const line = (name: string) => html`<path class="${name}" d="M0 6h22"/>`
  const entries: (readonly [Html, string] | false)[] = [
    last !== undefined && [line('usage'), `usage${at(last.usage)}`],
    limit !== '' && [line('limit'), `limit${at(last?.limit)}`],
    critical !== '' && [line('critical'), `critical${bound('critical')}`],
    warning !== '' && [line('warning'), `warning${bound('warning')}`],
    forecast !== undefined && [line('forecast'), 'forecast'],
    moved.length > 0 && [html`<circle class="moved" cx="11" cy="6" r="4"/>`, 'the limit moved'],
    gaps.length > 0 && [html`<rect class="gap" y="1" width="22" height="10"/>`, 'nothing read'],
    ...flags,
    low > 0 && [html`<path class="broken" d="M2 8l4-5l6 6l4-5"/>`, `axis from ${formatCount(low)}`],
  ]
  return html`<ul class="legend">${entries.map((entry) =>
    entry === false ? html`` : html`<li><svg aria-hidden="true">${entry[0]}</svg>${entry[1]}</li>`,
  )}</ul>`
}

/** The numbers that a chart is drawn from, newest first, with the times in which nothing was read. */
function numbersTable(caption: string, track: Track, { x }: Geometry): Html {
  const at = (moment: number) => html`<span data-x="${x(moment)}">${formatMoment(moment)}</span>`
  const rows = track.flatMap((run, n) => [
    ...(n === 0 ? [] : [[at(track[n - 1]?.at(-1)?.to ?? 0), 'nothing read', '']]),
    ...run.map(({ from, usage, limit }) => [
      at(from),
      formatCount(usage),
      limit === null ? 'none' : formatCount(limit),
    ]),
  ])
  if (rows.length === 0) return nothing('Nothing was read of it in this time.')
  const columns = ['From', { title: 'Usage', number: true }, { title: 'Limit', number: true }]
  const more = rows.length - MOST_ROWS
  return html`${htmlTable(caption, columns, rows.reverse().slice(0, MOST_ROWS))}
${more > 0 ? html`<p class="soft">${countOf(more, 'older row')} in the CSV.</p>` : undefined}`
}

/** Across the picture, whatever its width. */
function percent(x: number): string {
  return `${Math.round(x * 10) / 100}%`
}

const SPARK_HEIGHT = 24

/** The line of a series and its limit, for a cell of a table, beside its numbers. */
export function sparkline(data: ChartData, level?: AlertLevel): Html {
  const { usage, limit } = geometryOf({ ...data, forecast: null, levels: {}, marks: [] }, SPARK_HEIGHT)
  return html`<svg class="spark ${level ?? ''}" viewBox="0 -2 ${WIDTH} ${SPARK_HEIGHT + 4}" preserveAspectRatio="none" aria-hidden="true"><path class="limit" d="${limit}"/><path class="usage" d="${usage}"/></svg>`
}
