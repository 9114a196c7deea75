import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { cleanText } from '../../../text/clean-text.ts'
import { csvLine } from '../../../text/csv.ts'
import { iso } from '../../../text/format-time.ts'
import { readAccountView } from '../../../views/account-view.ts'
import { explainView } from '../../../views/read-explanation.ts'
import { Problem, unknownAccount } from '../../problem.ts'
import { check, oneOf, parseHubId } from '../../query.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { accountPage } from './account-page.ts'
import { accountSeries } from './account-series.ts'
import { RANGE_NAMES, type RangeName, usualRange } from './chart/range.ts'
import { seriesPage } from './series-page.ts'

/** The last that was told is a page's; all of it is `alerts explain`'s. */
const MOST_TOLD = { transitions: 30, attempts: 1_000 }

/** Everything about one account but its tokens, and each of its series. */
export function serveAccountPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/accounts/:hubId', (request, reply) => showAccount(deps, request, reply))
  app.get('/accounts/:hubId/series', (request, reply) => showSeries(deps, request, reply))
  app.get('/accounts/:hubId/series.csv', (request, reply) => sendSeries(deps, request, reply))
}

const RANGE = z.object({ range: oneOf(RANGE_NAMES as [RangeName, ...RangeName[]]).optional() })
const SERIES = RANGE.extend({ id: z.string('must be given once') })

async function showAccount(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { range } = check(RANGE, request.query)
  const { view, explained, all } = await readAccount(deps, request, range)
  const title = cleanText(view.account.hubDomain, 120) || `Account ${all.hubId}`
  const body = accountPage({ view, explained, all, refreshing: deps.connect.settings, mayWrite: request.mayWrite })
  return showOperatorPage(request, reply, { at: '/accounts', title, body })
}

async function showSeries(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { explained, all, series } = await readSeries(deps, request)
  const body = seriesPage(explained, all, series)
  return showOperatorPage(request, reply, { at: '/accounts', title: series.title, body })
}

/** Every stand of a series in the range, not only what a chart can show. */
async function sendSeries(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { all, series } = await readSeries(deps, request)
  const lines = all
    .dataOf(series, 0)
    .track.flat()
    .map(({ from, to, usage, limit }) => csvLine([iso(from), iso(to), usage, limit]))
  reply.type('text/csv; charset=utf-8; header=present')
  reply.header('content-disposition', `attachment; filename="series-${all.hubId}.csv"`)
  return reply.send(csvLine(['from', 'until', 'usage', 'limit']) + lines.join(''))
}

async function readSeries(deps: PagesDeps, request: FastifyRequest) {
  const { range, id } = check(SERIES, request.query)
  const read = await readAccount(deps, request, range)
  const series = read.all.find(id)
  if (series === undefined) throw new Problem(404, `The account has no such series.`)
  return { ...read, series }
}

async function readAccount(deps: PagesDeps, request: FastifyRequest, asked: RangeName | undefined) {
  const { hubId: text } = request.params as { hubId: string }
  const hubId = parseHubId(text)
  if (hubId === undefined) throw unknownAccount(text.slice(0, 40))
  const [view, history] = await Promise.all([readAccountView(deps, hubId), deps.history.changes(hubId)])
  if (view === undefined) throw unknownAccount(hubId)
  const explained = await explainView(deps, view, MOST_TOLD)
  const now = deps.clock.now()
  const range = asked ?? usualRange(history?.changes[0]?.at, now)
  return { view, explained, all: accountSeries(deps.explain, explained, history, range, now) }
}
