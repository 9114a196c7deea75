import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { html } from '../../../text/html.ts'
import { accountAlertsJson, findAlerts, alertPlaceText, readPlace } from '../../../views/find-alerts.ts'
import { countCovered, silenceJson } from '../../../views/silenced.ts'
import { formToken } from '../../access/form-token.ts'
import { check } from '../../query.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { flash } from '../parts/flash.ts'
import { ALERT_QUERY } from './alert-query.ts'
import { alertsPage } from './alerts-page.ts'

const ACCOUNTS_A_PAGE = 50
const ALERTS_A_PAGE = 500

/** What is open, and what is silenced. */
export function serveAlertsPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/alerts', (request, reply) => showAlerts(deps, request, reply))
}

async function showAlerts(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const query = check(ALERT_QUERY, request.query)
  const now = deps.clock.now()
  const silences = await deps.silences.active(now)
  const after = query.after === undefined ? undefined : readPlace(query.after)
  const page = { after, accounts: ACCOUNTS_A_PAGE, alerts: ALERTS_A_PAGE }
  const [{ counts, accounts, next }, covered] = await Promise.all([
    findAlerts(deps, query, silences, page, now),
    countCovered(deps, silences),
  ])
  const body = alertsPage({
    ...{ counts, query, now },
    accounts: accounts.map((account) => accountAlertsJson(account, ALERTS_A_PAGE)),
    next: next === undefined ? undefined : alertPlaceText(next),
    silences: silences.map((silence) => silenceJson(silence, covered.get(silence.id) ?? 0, now)),
    token: request.mayWrite ? formToken(request) : undefined,
  })
  const title = 'Open alerts'
  return showOperatorPage(request, reply, { at: '/alerts', title, body: html`${flash(request.query)}${body}` })
}
