import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { nothing } from '../parts/table.ts'
import { type AccountSeries, nearestFirst, seriesPath } from './account-series.ts'
import { chart } from './chart/chart.ts'
import { pointsTable } from './chart/points-table.ts'
import { RANGE_NAMES, RANGES, type RangeName } from './chart/range.ts'
import { storyOf } from './chart/story.ts'
import { seriesLink } from './series-link.ts'

/** The others stand in the tables below, each with a small line. */
const MOST_CHARTS = 4
const HEIGHT = 170
/** Of the numbers below a chart. */
const ROWS = 30

/** How the series that are nearest to their limits moved. */
export function chartsPart(all: AccountSeries): Html {
  const nearest = nearestFirst(all.current)
  const shown = nearest.slice(0, MOST_CHARTS)
  const more = nearest.length - shown.length
  return html`<section id="charts"><h2>Charts</h2>
${rangeChoice(all.range, (range) => `/accounts/${all.hubId}?range=${range}#charts`)}
${shown.length === 0 ? nothing('There is nothing to draw yet: nothing is used, or nothing was read.') : undefined}
<div class="charts">${shown.map((series, n) => {
    const data = all.dataOf(series)
    const { ms, says } = RANGES[all.range]
    return html`<figure>
<figcaption><h3>${seriesLink(all, series)}</h3><p>${storyOf(data, says)}</p></figcaption>
${chart({ id: `chart-${n}`, title: series.title, data, height: HEIGHT, span: says })}
<details><summary>The numbers</summary>
${pointsTable(`Numbers of ${series.title}`, all.dataOf(series, ms / ROWS).track, ROWS)}
<p><a href="${seriesPath(all, series.id, 'series.csv')}">All of them as CSV</a></p></details>
</figure>`
  })}</div>
${more > 0 ? html`<p class="soft">Those nearest to their limits. ${countOf(more, 'more series', 'more series')} below, each with a page of its own.</p>` : undefined}
</section>`
}

export function rangeChoice(chosen: RangeName, path: (range: RangeName) => string): Html {
  return html`<p class="filter" role="group" aria-label="Range">${RANGE_NAMES.map(
    (range) => html`<a href="${path(range)}"${range === chosen ? html` aria-current="true"` : undefined}>${range}</a>`,
  )}<span class="soft">times in UTC</span></p>`
}
