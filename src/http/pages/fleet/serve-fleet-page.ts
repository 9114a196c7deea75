import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { readFleetStatus } from '../../../views/fleet-status.ts'
import { readSparkline } from '../account/account-series.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { FIRST, fleetPage, levelOf } from './fleet-page.ts'

const REFRESH_SECONDS = 10

/** The fleet at a glance. */
export function serveFleetPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/', (request, reply) => showFleet(deps, request, reply))
}

async function showFleet(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const [status, health] = await Promise.all([readFleetStatus(deps), deps.health()])
  void deps.directory.warm().catch(() => undefined) // The search reports what fails.
  const now = deps.clock.now()
  const nearest = status.nearestLimits.slice(0, FIRST).map(async (limit) => {
    const level = levelOf(limit, status.alerts.worst)
    return { limit, level, spark: await readSparkline(deps.history, limit, level, now) }
  })
  const body = fleetPage({ status, health, nearest: await Promise.all(nearest), mayWrite: request.mayWrite })
  return showOperatorPage(request, reply, { at: '/', title: 'Status', refreshWithoutScript: REFRESH_SECONDS, body })
}
