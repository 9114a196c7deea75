import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountExplanation, ExplainedSeries } from '../../../views/explain-account.ts'
import { fullness } from '../parts/bar.ts'
import { daysLeftNote } from '../parts/days-left-note.ts'
import { when } from '../parts/when.ts'
import { type AccountSeries, type ShownSeries, seriesPath } from './account-series.ts'
import { ruleText, stateOf, toldPart, toldText } from './alerts-part.ts'
import { chart } from './chart/chart.ts'
import { pointsTable } from './chart/points-table.ts'
import { RANGES } from './chart/range.ts'
import { storyOf } from './chart/story.ts'
import { rangeChoice } from './charts-part.ts'

const HEIGHT = 280
const ROWS = 60

/** One series: how it moved, where it stands and why, what was told of it. */
export function seriesPage(explained: AccountExplanation, all: AccountSeries, series: ShownSeries): Html {
  const { hubId, hubDomain } = explained.account
  const about = explained.series.find(({ field }) => field === series.id)
  const data = all.dataOf(series)
  const { says } = RANGES[all.range]
  return html`<p><a href="/accounts/${hubId}?range=${all.range}">${cleanText(hubDomain, 80) || `Account ${hubId}`}</a></p>
${about === undefined ? html`<p>It is no longer reported.</p>` : factsOf(about, series.level, all.now)}
${rangeChoice(all.range, (range) => seriesPath({ hubId, range }, series.id))}
<figure>
<figcaption><p>${storyOf(data, says)}</p></figcaption>
${chart({ id: 'chart', title: series.title, data, height: HEIGHT, span: says })}
</figure>
${about === undefined ? undefined : toldPart([about], all.now)}
<details><summary>The numbers</summary>
${pointsTable('The numbers', data.track, ROWS)}
</details>
<p><a href="${seriesPath(all, series.id, 'series.csv')}">All of them as CSV</a></p>`
}

function factsOf(about: ExplainedSeries, level: ShownSeries['level'], now: number): Html {
  const { series, state, since, why, rule, passedOver, next } = about
  const rows: [string, Html | undefined][] = [
    ['State', html`${stateOf(state)}${since === null ? undefined : html` since ${when(since, now)}`}`],
    ['Reading', html`${fullness(series, level)}${daysLeftNote(series)}`],
    ['Read', when(series.measuredAt, now)],
    ['Because', html`${cleanText(why, 400)}`],
    ['Rule', rule === null ? html`none is about it` : ruleText(rule)],
    ...passedOver.map((place): [string, Html] => ['Passed over', html`${ruleText(place)} (${place.because})`]),
    ['Then', next === null ? undefined : html`${next}, if the next polls read the same`],
    ['Tells', html`${toldText(about)}`],
    ['Again', about.repeatFrom === null ? undefined : html`${when(about.repeatFrom, now)}, if it still holds`],
    ['Forecast', series.forecastReason === null ? undefined : html`none: ${series.forecastReason}`],
  ]
  const shown = rows.filter(([, value]) => value !== undefined)
  return html`<dl class="facts">${shown.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}
