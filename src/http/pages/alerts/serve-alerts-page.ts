import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { alertOfTransition } from '../../../alerts/alert.ts'
import { readOpenAlerts } from '../../../alerts/open-alerts.ts'
import { NOBODY } from '../../../redis/steps.ts'
import { timedAlert } from '../../../views/fleet-status.ts'
import { countCovered, silenceJson, withMarks } from '../../../views/silenced.ts'
import { surveyAlerts, worstAccounts } from '../../../views/survey-alerts.ts'
import { check, oneOf } from '../../query.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { alertsPage } from './alerts-page.ts'

const ALERTS_A_PAGE = 200

/** What is open, and what is silenced. */
export function serveAlertsPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/alerts', (request, reply) => showAlerts(deps, request, reply))
}

async function showAlerts(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { level } = check(z.object({ level: oneOf(['warning', 'critical']).optional() }), request.query)
  const now = deps.clock.now()
  const [survey, silences] = await Promise.all([surveyAlerts(deps), deps.silences.active(now)])
  const [found, covered] = await Promise.all([
    readOpenAlerts(deps.store, deps.keys, worstAccounts(survey, ALERTS_A_PAGE, level)),
    countCovered(deps, silences),
  ])
  const alerts = found.filter((alert) => level === undefined || alert.level === level).slice(0, ALERTS_A_PAGE)
  const body = alertsPage({
    alerts: withMarks(alerts, silences, now).map(timedAlert),
    ...{ counts: survey.counts, level, now },
    // Whoever has the link acknowledges: a token that may only read gets none.
    acknowledge: ({ hubId, id }) =>
      request.mayWrite
        ? deps.ackLinks.pathTo({ hubId: hubId ?? NOBODY, alertId: alertOfTransition(id) }, now)
        : undefined,
    silences: silences.map((silence) => silenceJson(silence, covered.get(silence.id) ?? 0, now)),
  })
  return showOperatorPage(request, reply, { at: '/alerts', title: 'Open alerts', body })
}
