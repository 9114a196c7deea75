import { cleanText } from '../../../text/clean-text.ts'
import { formatDaysLeft, formatDaysRange } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountExplanation, ExplainedAlert, ExplainedSeries } from '../../../views/explain-account.ts'
import { fullness } from '../parts/bar.ts'
import { when } from '../parts/when.ts'
import { factList, notifications } from './account-page.ts'
import { type AccountSeries, rangeChoice, type ShownSeries, seriesChart, seriesPath } from './account-series.ts'
import { ruleText, stateOf } from './series-table.ts'

/** One series: how it moved, its state and why, what was sent about it. */
export function seriesPage(
  { account: { hubId, hubDomain } }: AccountExplanation,
  all: AccountSeries,
  series: ShownSeries,
): Html {
  const { explained } = series
  return html`<p><a href="/accounts/${hubId}?range=${all.range}">${cleanText(hubDomain, 80) || `Account ${hubId}`}</a></p>
${explained === undefined ? html`<p>It is no longer reported.</p>` : facts(explained, series.level, all.now)}
${rangeChoice(all, (range) => seriesPath({ hubId, range }, series.id))}
${seriesChart(all, series)}
${explained === undefined ? undefined : notifications([explained], all.now)}`
}

function facts(about: ExplainedSeries, level: ShownSeries['level'], now: number): Html {
  const { series, state, since, why, rule, passedOver, next, repeatFrom } = about
  const { forecast, forecastReason } = series
  const days =
    forecast === null || forecast.days === 0
      ? ''
      : ` ${formatDaysLeft(forecast.days)}${formatDaysRange(forecast.days, forecast)}`
  return factList([
    ['State', html`${stateOf(state)}${since === null ? undefined : html` since ${when(since, now)}`}`],
    ['Reading', html`${fullness(series, level)} <span class="soft">${days}</span>`],
    ['Read', when(series.measuredAt, now)],
    ['Because', html`${cleanText(why, 400)}`],
    ['Rule', html`${ruleText(rule)}${rule === null ? '' : `: ${rule.asks}`}`],
    ...passedOver.map((place) => ['Passed over', html`${ruleText(place)}: ${place.because}`] as const),
    ['Then', next === null ? undefined : html`${next}, if the next polls read the same`],
    ['Notifies', html`${notifies(about)}`],
    ['Repeats', repeatFrom === null ? undefined : html`${when(repeatFrom, now)}, if it still holds`],
    ['Forecast', forecastReason === null ? undefined : html`none: ${forecastReason}`],
  ])
}

/** What holds it back, or who is notified. */
function notifies({ held, route }: ExplainedAlert): string {
  if (held.length > 0) return cleanText(held.map(({ text }) => text).join('; '), 300)
  return route === null ? 'no receiver: no route matches it' : `${route.to.join(', ')} (${route.at})`
}
