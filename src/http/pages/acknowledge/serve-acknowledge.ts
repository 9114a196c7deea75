import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { AcknowledgeOutcome, SeenAlert } from '../../../alerts/acknowledge.ts'
import { ACKNOWLEDGE_PATH, type AckLinks } from '../../../alerts/acknowledge.ts'
import { type OpenAlert, readOpenAlerts } from '../../../alerts/open-alerts.ts'
import { timedAcknowledgement } from '../../../views/find-alerts.ts'
import type { FleetStatusDeps } from '../../../views/fleet-status.ts'
import { ACKNOWLEDGED_BY } from '../../acknowledged-by.ts'
import { check } from '../../query.ts'
import { requireRedis } from '../../redis-away.ts'
import { sendPage } from '../page.ts'
import {
  acknowledgedPage,
  acknowledgePage,
  alreadyPage,
  type LinkPage,
  notOpenPage,
  refusedLinkPage,
  worsePage,
} from './acknowledge-page.ts'

export interface AcknowledgePageDeps extends FleetStatusDeps {
  ackLinks: AckLinks
  actions: {
    acknowledge(seen: SeenAlert, by: { by: string; comment?: string | undefined }): Promise<AcknowledgeOutcome>
  }
}

/**
 * For people, by a signed link: in a mail, or on the page of alerts. Programs that follow links to see what is behind them
 * send GET and HEAD, which change nothing. They don't press the page's button, which sends a POST.
 */
export function serveAcknowledgeLinks(app: FastifyInstance, deps: AcknowledgePageDeps): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, Object.fromEntries(new URLSearchParams(String(body))))
  })
  app.get(ACKNOWLEDGE_PATH, (request, reply) => show(deps, request, reply))
  app.post(ACKNOWLEDGE_PATH, (request, reply) => confirm(deps, request, reply))
}

async function show(deps: AcknowledgePageDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const now = deps.clock.now()
  const link = deps.ackLinks.read(request.query, now)
  if (link.is !== 'good') return answer(reply, refusedLinkPage(link.is))
  await requireRedis(deps.store)
  const alert = await openAlert(deps, link.hubId, link.alertId)
  if (alert === undefined) return answer(reply, notOpenPage())
  const { acknowledged } = alert
  if (acknowledged !== undefined && now < acknowledged.until) {
    return answer(reply, alreadyPage(alert, timedAcknowledgement(acknowledged), now))
  }
  return answer(reply, acknowledgePage(alert, hereWith(link.query), now))
}

const FORM = z.object({ ...ACKNOWLEDGED_BY, level: z.enum(['warning', 'critical']).optional() }).optional()

async function confirm(deps: AcknowledgePageDeps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const now = deps.clock.now()
  const link = deps.ackLinks.read(request.query, now)
  if (link.is !== 'good') return answer(reply, refusedLinkPage(link.is))
  const { by = 'the holder of the link', comment, level } = check(FORM, request.body ?? undefined) ?? {}
  await requireRedis(deps.store)
  const alert = await openAlert(deps, link.hubId, link.alertId)
  if (alert === undefined) return answer(reply, notOpenPage())
  const seen = { id: link.alertId, hubId: link.hubId, level: level ?? alert.level }
  const outcome = await deps.actions.acknowledge(seen, { by, comment })
  switch (outcome.is) {
    case 'acknowledged':
      return answer(reply, acknowledgedPage(alert, timedAcknowledgement(outcome.acknowledged), now))
    case 'already':
      return answer(reply, alreadyPage(alert, timedAcknowledgement(outcome.acknowledged), now))
    case 'not-open':
      return answer(reply, notOpenPage())
    case 'gone-worse':
      return answer(reply, worsePage(hereWith(link.query)))
  }
}

/** To the page that is shown: a proxy may have it under another path. */
function hereWith(query: string): string {
  return `?${query}`
}

async function openAlert(
  { store, keys }: AcknowledgePageDeps,
  hubId: number,
  id: string,
): Promise<OpenAlert | undefined> {
  return (await readOpenAlerts(store, keys, [hubId])).find((alert) => alert.id === id)
}

/** What a link shows is for its holder, and for no search engine. */
function answer(reply: FastifyReply, { status, page }: LinkPage): FastifyReply {
  return sendPage(reply.header('x-robots-tag', 'noindex, nofollow, noarchive'), status, page)
}
