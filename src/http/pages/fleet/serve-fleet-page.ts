import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { withPlan } from '../../../views/account-view.ts'
import { readFleetStatus } from '../../../views/fleet-status.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { fleetPage } from './fleet-page.ts'

/** Of a small fleet all are shown; of a large one these say nothing, and the page of accounts does. */
const SOME_ACCOUNTS = 10
const REFRESH_SECONDS = 10

/** The fleet at a glance. */
export function serveFleetPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/', (request, reply) => showFleet(deps, request, reply))
}

async function showFleet(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const [status, health, some] = await Promise.all([
    readFleetStatus(deps),
    deps.health(),
    deps.registry.page(SOME_ACCOUNTS),
  ])
  void deps.directory.warm().catch(() => undefined) // Whoever searches is told.
  const accounts = await Promise.all(some.map((account) => withPlan(deps.due, account)))
  const body = fleetPage({ status, health, accounts, mayWrite: request.mayWrite })
  return showOperatorPage(request, reply, { at: '/', title: 'Status', refreshWithoutScript: REFRESH_SECONDS, body })
}
