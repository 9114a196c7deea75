import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { cleanText } from '../../../text/clean-text.ts'
import { daysLeftText } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import type { ExplainedSeriesShape } from '../../../views/shapes/explanation.ts'
import { Problem } from '../../problem.ts'
import { check } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { alertPath } from '../parts/alert-links.ts'
import { alertActions } from '../parts/alert-lists.ts'
import { accountTitle, fullness, when } from '../parts/cells.ts'
import { factList } from '../parts/tables.ts'
import { notifications, RANGE, readAskedAccount } from './account-page.ts'
import { rangeChoice, type ShownSeries, seriesChart, seriesPath } from './account-series.ts'
import { ruleText, stateOf } from './series-table.ts'

/** One series: how it moved, its state with the reason, its notifications. */
export async function showSeries(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { range: asked, id } = check(SERIES, request.query)
  const { account, all } = await readAskedAccount(deps, request, asked)
  const series = all.find(id)
  if (series === undefined) throw new Problem(404, 'The account has no such series.')
  const { hubId, now, range } = all
  const { current, level, title } = series
  const open = account.alerts.find(({ field }) => field === id)
  const body = html`<p><a href="/accounts/${hubId}?range=${range}">${accountTitle(account)}</a></p>
${current === undefined ? html`<p>It is no longer reported.</p>` : facts(current, level, now)}
${open && html`<p class="row"><a href="${alertPath(open)}">Open its alert</a> ${request.mayWrite ? alertActions(open) : undefined}</p>`}
${rangeChoice(all, (one) => seriesPath({ hubId, range: one }, series.id))}
${seriesChart(all, series, 240)}
${current === undefined ? undefined : notifications([current], now)}`
  return { at: '/accounts', title: `${title}, ${accountTitle(account)}`, body }
}

const SERIES = RANGE.extend({ id: z.string('must be given once') })

function facts(series: ExplainedSeriesShape, level: ShownSeries['level'], now: number): Html {
  const { state, since, why, rule, forecast, forecastReason } = series
  const days = forecast === null ? '' : ` ${daysLeftText(forecast.days, forecast)}`
  return factList([
    ['Level', html`${stateOf(state)}${since === null ? undefined : html` since ${formatTime(since)}`}`],
    ['Usage', html`${fullness(series, level)} <span class="soft">${days}</span>`],
    ['Measured', when(series.measuredAt, now)],
    ['Reason', html`${cleanText(why, 400)}`],
    ['Rule', html`${ruleText(rule)}${rule === null ? '' : `: ${rule.asks}`}`],
    ['Forecast', forecastReason === null ? undefined : html`none: ${forecastReason}`],
  ])
}
