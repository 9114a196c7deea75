import type { FastifyInstance, FastifyReply } from 'fastify'
import { AnyObjectShape } from '../../views/shapes/installation.ts'
import { deleteAccount, pollAccount, refreshAccount, uninstallAccount } from './account-actions.ts'
import { explainAccount, listAccounts, showAccount } from './accounts.ts'
import { acknowledgeAlert, listAlerts, showAlert, unacknowledgeAlert } from './alerts.ts'
import type { ApiDeps } from './api-deps.ts'
import { listDeliveries, replayDeliveries } from './deliveries.ts'
import { openApiDocument } from './openapi.ts'
import { listReceivers, testReceiver } from './receivers.ts'
import { type AnswerShapes, type ApiRoute, ok, type RouteAnswer, route, TAKES_NOTHING } from './route.ts'
import { endSilence, listSilences, makeSilence, showSilence } from './silences.ts'
import { listSnapshots } from './snapshots.ts'
import { showCoverage, showOutbox, showStatus } from './status.ts'
import { showToken } from './token.ts'
import { listTransitions } from './transitions.ts'

const ALL: readonly ApiRoute[] = [
  ...[showStatus, showCoverage, showOutbox],
  ...[listAccounts, showAccount, explainAccount, listSnapshots, showToken],
  ...[pollAccount, refreshAccount, uninstallAccount, deleteAccount],
  ...[listAlerts, showAlert, acknowledgeAlert, unacknowledgeAlert, listTransitions],
  ...[listSilences, makeSilence, showSilence, endSilence],
  ...[listDeliveries, replayDeliveries, listReceivers, testReceiver],
]

/** All that answers under /api/v1, and the document about it. */
export const API_ROUTES: readonly ApiRoute[] = [...ALL, openApiRoute(ALL)]

/** JSON for programs: the same facts as the pages show, and the same actions as the command line's. */
export function serveApi(app: FastifyInstance, deps: ApiDeps): void {
  registerRoutes(app, deps, API_ROUTES)
}

/** Makes each declaration answer. */
function registerRoutes(app: FastifyInstance, deps: ApiDeps, routes: readonly ApiRoute[]): void {
  for (const route of routes) {
    app.route({
      method: route.method,
      url: route.path.replace(/\{(\w+)\}/g, ':$1'),
      // HEAD would issue a token without a reader.
      exposeHeadRoute: route.method === 'GET' && route.scope !== 'tokens',
      handler: async (request, reply) => send(reply, await route.answer(deps, request)),
    })
  }
}

function send(reply: FastifyReply, answer: RouteAnswer<AnswerShapes>): FastifyReply {
  reply.code(answer.status)
  if (answer.location !== undefined) reply.header('location', answer.location)
  if ('json' in answer) return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer.json))
  const { type, fileName, text } = answer.lines
  return reply.type(type).header('content-disposition', `attachment; filename="${fileName}"`).send(text)
}

/** Tells of the given routes, and of itself. */
function openApiRoute(routes: readonly ApiRoute[]): ApiRoute {
  const self: ApiRoute = route({
    ...TAKES_NOTHING,
    ...{ id: 'showDocument', method: 'GET', path: '/openapi.json', scope: 'read' },
    summary: 'This document',
    answers: { 200: { description: 'OpenAPI 3.1.', json: AnyObjectShape } },
    ...{ problems: [], example: {} },
    answer: async ({ publicUrl }) => ok(openApiDocument([...routes, self], publicUrl)),
  })
  return self
}
