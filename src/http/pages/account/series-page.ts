import type { FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { cleanText } from '../../../text/clean-text.ts'
import { csvLine } from '../../../text/csv.ts'
import { daysLeftText } from '../../../text/format-number.ts'
import { iso } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import type { ExplainedSeries } from '../../../views/explain-account.ts'
import { Problem } from '../../problem.ts'
import { check } from '../../query.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { accountTitle, fullness, when } from '../parts/cells.ts'
import { factList } from '../parts/tables.ts'
import { notifications, RANGE, readAskedAccount } from './account-page.ts'
import { rangeChoice, type ShownSeries, seriesChart, seriesPath } from './account-series.ts'
import { ruleText, stateOf } from './series-table.ts'

/** One series: how it moved, its state with the reason, its notifications. */
export async function showSeries(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { view, all, series } = await readSeries(deps, request)
  const { hubId, now, range } = all
  const { explained, level, title } = series
  const body = html`<p><a href="/accounts/${hubId}?range=${range}">${accountTitle(view.account)}</a></p>
${explained === undefined ? html`<p>It is no longer reported.</p>` : facts(explained, level, now)}
${rangeChoice(all, (one) => seriesPath({ hubId, range: one }, series.id))}
${seriesChart(all, series)}
${explained === undefined ? undefined : notifications([explained], now)}`
  return { at: '/accounts', title, body }
}

/** Every value of a series in the range, not only what a chart can show. */
export async function sendSeries(deps: WebDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { all, series } = await readSeries(deps, request)
  const lines = all
    .dataOf(series, 0)
    .track.flat()
    .map(({ from, to, usage, limit }) => csvLine([iso(from), iso(to), usage, limit]))
  reply.type('text/csv; charset=utf-8; header=present')
  reply.header('content-disposition', `attachment; filename="series-${all.hubId}.csv"`)
  return reply.send(csvLine(['from', 'until', 'usage', 'limit']) + lines.join(''))
}

const SERIES = RANGE.extend({ id: z.string('must be given once') })

async function readSeries(deps: WebDeps, request: FastifyRequest) {
  const { range, id } = check(SERIES, request.query)
  const read = await readAskedAccount(deps, request, range)
  const series = read.all.find(id)
  if (series === undefined) throw new Problem(404, 'The account has no such series.')
  return { ...read, series }
}

function facts(about: ExplainedSeries, level: ShownSeries['level'], now: number): Html {
  const { series, state, since, why, rule } = about
  const { forecast, forecastReason } = series
  const days = forecast === null ? '' : ` ${daysLeftText(forecast.days, forecast)}`
  return factList([
    ['State', html`${stateOf(state)}${since === null ? undefined : html`, the alert opened ${when(since, now)}`}`],
    ['Reading', html`${fullness(series, level)} <span class="soft">${days}</span>`],
    ['Read', when(series.measuredAt, now)],
    ['Because', html`${cleanText(why, 400)}`],
    ['Rule', html`${ruleText(rule)}${rule === null ? '' : `: ${rule.asks}`}`],
    ['Forecast', forecastReason === null ? undefined : html`none: ${forecastReason}`],
  ])
}
