import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { reconnectLink } from '../../../accounts/reconnect-link.ts'
import { crmSite } from '../../../delivery/email/mail-links.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { csvLine } from '../../../text/csv.ts'
import { iso } from '../../../text/format-time.ts'
import { html } from '../../../text/html.ts'
import { readAccountView } from '../../../views/account-view.ts'
import { readTokenEndpoint } from '../../../views/fleet-health.ts'
import { explainView } from '../../../views/read-explanation.ts'
import { goTo } from '../../access/accept-forms.ts'
import { formToken } from '../../access/form-token.ts'
import type { Actions } from '../../actions.ts'
import { Problem, unknownAccount } from '../../problem.ts'
import { check, hubIdOf, oneOf } from '../../query.ts'
import { requireRedis } from '../../redis-away.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { type Done, flash } from '../parts/flash.ts'
import { accountPage, uninstallPage } from './account-page.ts'
import { accountSeries, RANGE_NAMES, type RangeName } from './account-series.ts'
import { seriesPage } from './series-page.ts'
import { isLeaving } from './verdict.ts'

/** The page shows the newest notifications; `alerts explain` has all of them. */
const MOST_NOTIFIED = { transitions: 30, attempts: 1_000 }

/** Everything about one account but its tokens, and each of its series. */
export function serveAccountPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/accounts/:hubId', (request, reply) => showAccount(deps, request, reply))
  app.get('/accounts/:hubId/series', (request, reply) => showSeries(deps, request, reply))
  app.get('/accounts/:hubId/series.csv', (request, reply) => sendSeries(deps, request, reply))
  app.get('/accounts/:hubId/uninstall', (request, reply) => confirmUninstall(deps, request, reply))
}

type FormsDeps = PagesDeps & { actions: Pick<Actions, 'poll' | 'refresh' | 'uninstall'> }

/** What the buttons of an account do: the same as the API and the command line. */
export function serveAccountForms(app: FastifyInstance, deps: FormsDeps): void {
  const { actions, store } = deps
  const serve = (what: string, act: (hubId: number, request: FastifyRequest) => Promise<Done>) =>
    app.post(`/accounts/:hubId/${what}`, async (request, reply) => {
      await requireRedis(store)
      const hubId = hubIdOf(request)
      if ((await deps.registry.get(hubId)) === undefined) throw unknownAccount(hubId)
      // Also where it failed: a page at this address would do it again when it is loaded again.
      return goTo(reply, `/accounts/${hubId}?done=${await act(hubId, request)}`)
    })
  serve('poll', async (hubId) => {
    const { reason } = await actions.poll(hubId)
    return reason === undefined ? 'polled' : 'poll-failed'
  })
  serve('refresh', async (hubId) => {
    const refreshed = await actions.refresh(hubId)
    return 'why' in refreshed ? 'refresh-failed' : 'refreshed'
  })
  serve('uninstall', async (hubId, { body }) => {
    const { reason } = check(UNINSTALL, body ?? {})
    await actions.uninstall(hubId, reason === '' ? 'asked for on its page' : reason)
    return 'uninstalling'
  })
}

const UNINSTALL = z.object({ reason: z.string().trim().max(200, 'is longer than 200 characters').default('') })
export const RANGE = z.object({ range: oneOf(RANGE_NAMES as [RangeName, ...RangeName[]]).optional() })
const SERIES = RANGE.extend({ id: z.string('must be given once') })

/** Where the account has no failure: its turn is another worker's, or the provider takes no call just now. */
const TRY_LATER = 'try again in a while; the verdict below and plimsoll status show what holds it up'

async function showAccount(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { range } = check(RANGE, request.query)
  const [{ view, explained, all }, endpoint] = await Promise.all([
    readAsked(deps, request, range),
    readTokenEndpoint(deps.store, deps.keys),
  ])
  const fleet = { freshnessMs: deps.coverage.settings.freshnessMs, endpoint }
  const token = request.mayWrite ? formToken(request) : undefined
  const site = crmSite(deps.install.installUrl)
  const crm = site && `${site}/contacts/${all.hubId}`
  const may =
    token === undefined || isLeaving(view.account)
      ? undefined
      : { token, reconnect: reconnectLink(deps.connect.vault, deps.publicUrl, all.hubId, all.now).url }
  const page = accountPage({ view, explained, all, fleet, may, crm })
  const { pollFailure, refreshFailure } = view.account
  const why = { 'poll-failed': pollFailure?.reason || TRY_LATER, 'refresh-failed': refreshFailure?.reason || TRY_LATER }
  const body = html`${flash(request.query, why)}${page}`
  return showOperatorPage(request, reply, { at: '/accounts', title: titleOf(view), body })
}

function titleOf({ account }: { account: { hubId: number; hubDomain: string } }): string {
  return cleanText(account.hubDomain, 120) || `Account ${account.hubId}`
}

async function confirmUninstall(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  if (!request.mayWrite) throw new Problem(403, 'To uninstall an account takes an admin token with the scope write.')
  const hubId = hubIdOf(request)
  const account = await deps.registry.get(hubId)
  if (account === undefined) throw unknownAccount(hubId)
  const body = uninstallPage(hubId, formToken(request))
  return showOperatorPage(request, reply, { at: '/accounts', title: `Uninstall ${titleOf({ account })}?`, body })
}

async function showSeries(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { explained, all, series } = await readSeries(deps, request)
  const body = seriesPage(explained, all, series)
  return showOperatorPage(request, reply, { at: '/accounts', title: series.title, body })
}

/** Every value of a series in the range, not only what a chart can show. */
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
  const read = await readAsked(deps, request, range)
  const series = read.all.find(id)
  if (series === undefined) throw new Problem(404, `The account has no such series.`)
  return { ...read, series }
}

async function readAsked(deps: PagesDeps, request: FastifyRequest, range: RangeName | undefined) {
  const hubId = hubIdOf(request)
  const read = await readAccount(deps, hubId, range)
  if (read === undefined) throw unknownAccount(hubId)
  return read
}

/** An account with its series in a range, or in the usual one. Undefined: there is no such account. */
export async function readAccount(deps: PagesDeps, hubId: number, range?: RangeName) {
  const [view, history] = await Promise.all([readAccountView(deps, hubId), deps.history.changes(hubId)])
  if (view === undefined) return undefined
  const explained = await explainView(deps, view, MOST_NOTIFIED)
  return { view, explained, all: accountSeries(deps.explain, explained, history, range, deps.clock.now()) }
}
