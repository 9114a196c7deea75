import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { html } from '../../../text/html.ts'
import { findAlerts } from '../../../views/find-alerts.ts'
import { timedAlert } from '../../../views/open-alert-json.ts'
import { countCovered, silenceJson } from '../../../views/silenced.ts'
import { formToken } from '../../access/form-token.ts'
import { check } from '../../query.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { flash } from '../parts/flash.ts'
import { ALERT_QUERY, placeText, readPlace } from './alert-query.ts'
import { alertsPage } from './alerts-page.ts'

const ALERTS_A_PAGE = 100

/** What is open, and what is silenced. */
export function serveAlertsPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/alerts', (request, reply) => showAlerts(deps, request, reply))
}

async function showAlerts(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const query = check(ALERT_QUERY, request.query)
  const now = deps.clock.now()
  const silences = await deps.silences.active(now)
  const page = { after: readPlace(query.after), size: ALERTS_A_PAGE }
  const [{ counts, alerts, next }, covered] = await Promise.all([
    findAlerts(deps, query, silences, page, now),
    countCovered(deps, silences),
  ])
  const body = alertsPage({
    ...{ counts, query, now },
    alerts: alerts.map(timedAlert),
    next: next === undefined ? undefined : placeText(next),
    silences: silences.map((silence) => silenceJson(silence, covered.get(silence.id) ?? 0, now)),
    token: request.mayWrite ? formToken(request) : undefined,
  })
  const title = 'Open alerts'
  return showOperatorPage(request, reply, { at: '/alerts', title, body: html`${flash(request.query)}${body}` })
}
