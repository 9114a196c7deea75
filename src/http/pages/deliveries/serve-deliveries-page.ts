import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { timedAttempt } from '../../../views/fleet-status.ts'
import { receiverStatus } from '../../../views/receiver-status.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { deliveriesPage } from './deliveries-page.ts'

const ATTEMPTS_A_PAGE = 100

/** What was sent, and how each receiver fares. */
export function serveDeliveriesPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/deliveries', (request, reply) => showDeliveries(deps, request, reply))
}

async function showDeliveries(
  { deliveries, receiverStore, clock }: PagesDeps,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const [pending, dead, receivers, log] = await Promise.all([
    deliveries.countPending(),
    deliveries.countDead(),
    receiverStore.read(),
    deliveries.log(ATTEMPTS_A_PAGE),
  ])
  const body = deliveriesPage({
    ...{ pending, dead },
    receivers: receivers.map(receiverStatus),
    attempts: log.map(timedAttempt),
    now: clock.now(),
  })
  return showOperatorPage(request, reply, { at: '/deliveries', title: 'Deliveries', body })
}
