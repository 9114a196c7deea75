import type { FastifyInstance, FastifyReply } from 'fastify'
import { readFleetStatus } from '../../checks/fleet-status.ts'
import { loadOperation, OPERATION_NAMES } from '../../operations/operations.ts'
import { readCoverage } from '../../views/fleet-health.ts'
import { readOutboxBalance } from '../../views/outbox-balance.ts'
import { OutboxShape } from '../../views/shapes/delivery.ts'
import { CoverageShape, FleetStatusShape } from '../../views/shapes/fleet-status.ts'
import { AnyObjectShape } from '../../views/shapes/installation.ts'
import type { WebDeps } from '../web-deps.ts'
import { accountActionRoutes } from './account-actions.ts'
import { accountRoutes } from './accounts.ts'
import { alertRoutes } from './alerts.ts'
import { deliveryRoutes } from './deliveries.ts'
import { openApiDocument } from './openapi.ts'
import { operationRoutes } from './operation-route.ts'
import { type ApiRoute, route, type SentAnswer } from './route.ts'
import { silenceRoutes } from './silences.ts'

const statusRoutes = [
  route('showStatus', 'GET /status', {
    summary: 'The fleet at a glance',
    gives: { description: 'How the fleet is.', json: FleetStatusShape },
    answer: async (deps) => ({ json: await readFleetStatus(deps) }),
  }),

  route('showCoverage', 'GET /coverage', {
    summary: 'How far readings can be relied on',
    description: 'The accounts without a fresh reading are those of `/accounts?stale=true`.',
    gives: { description: 'The coverage now.', json: CoverageShape },
    answer: async ({ coverage, clock }) => ({ json: await readCoverage(coverage, clock.now()) }),
  }),

  route('showOutbox', 'GET /outbox', {
    summary: 'Whether any alert was lost',
    description: 'From counters; `plimsoll outbox verify` checks each transition.',
    gives: { description: 'How many alerts are on their way.', json: OutboxShape },
    answer: async (deps) => ({ json: await readOutboxBalance(deps, deps.clock.now()) }),
  }),
]

const OF_OPERATIONS = (await Promise.all(OPERATION_NAMES.map(loadOperation))).flatMap(operationRoutes)

/** All that answers under /api/v1, and the document about it. */
export const API_ROUTES: readonly ApiRoute[] = [
  ...statusRoutes,
  ...accountRoutes,
  ...accountActionRoutes,
  ...alertRoutes,
  ...silenceRoutes,
  ...deliveryRoutes,
  ...OF_OPERATIONS,
  route('showDocument', 'GET /openapi.json', {
    summary: 'This document',
    gives: { description: 'OpenAPI 3.1.', json: AnyObjectShape },
    answer: async ({ publicUrl }) => ({ json: openApiDocument(API_ROUTES, publicUrl) }),
  }),
]

/** JSON for programs: the same facts as the pages show, and the same actions as the command line's. */
export function serveApi(app: FastifyInstance, deps: WebDeps): void {
  for (const route of API_ROUTES) {
    app.route({
      method: route.method,
      url: route.path.replace(/\{(\w+)\}/g, ':$1'),
      // HEAD would issue a token without a reader.
      exposeHeadRoute: route.method === 'GET' && route.scope !== 'tokens',
      handler: async (request, reply) => send(reply, await route.answer(deps, request)),
    })
  }
}

function send(reply: FastifyReply, answer: SentAnswer): FastifyReply {
  reply.code(answer.status ?? 200)
  if (answer.location !== undefined) reply.header('location', answer.location)
  if ('json' in answer) return reply.type('application/json; charset=utf-8').send(JSON.stringify(answer.json))
  const { type, fileName, text } = answer.lines
  return reply.type(type).header('content-disposition', `attachment; filename="${fileName}"`).send(text)
}
