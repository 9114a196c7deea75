import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { deadDeliveries, waitingDeliveries } from '../../../delivery/deliveries.ts'
import { html } from '../../../text/html.ts'
import { carriedBy, findAttempts, receiverStatus, timedAttempt } from '../../../views/deliveries.ts'
import { formToken } from '../../access/form-token.ts'
import { check, oneOf } from '../../query.ts'
import { showOperatorPage } from '../page.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { flash } from '../parts/flash.ts'
import { deliveriesPage, OUTCOMES } from './deliveries-page.ts'

const ATTEMPTS_A_PAGE = 30
/** Of those that wait and of those that were given up. */
const DELIVERIES_A_PAGE = 15

/** A field that a form sent empty is one that was not chosen. */
const QUERY = z.object({
  receiver: z
    .string('must be given once')
    .max(200, 'is longer than 200 characters')
    .transform((given) => given || undefined)
    .optional(),
  outcome: z.preprocess((given) => (given === '' ? undefined : given), oneOf(OUTCOMES).optional()),
})

/** What was sent, what waits, what was given up, and the state of each receiver. */
export function serveDeliveriesPage(app: FastifyInstance, deps: PagesDeps): void {
  app.get('/deliveries', (request, reply) => showDeliveries(deps, request, reply))
}

async function showDeliveries(deps: PagesDeps, request: FastifyRequest, reply: FastifyReply) {
  const { deliveries, receiverStore, clock } = deps
  const filter = check(QUERY, request.query)
  const [pending, dead, receivers, attempts, waiting, givenUp] = await Promise.all([
    deliveries.countPending(),
    deliveries.countDead(),
    receiverStore.read(),
    findAttempts(deliveries, filter, ATTEMPTS_A_PAGE),
    waitingDeliveries(deps, DELIVERIES_A_PAGE),
    deadDeliveries(deps, DELIVERIES_A_PAGE),
  ])
  const carried = await carriedBy(
    deps,
    [...attempts, ...waiting, ...givenUp].map(({ id }) => id),
  )
  const body = deliveriesPage({
    ...{ pending, dead, waiting, givenUp, carried, filter },
    receivers: receivers.map(receiverStatus),
    testable: new Set(deps.receivers),
    attempts: attempts.map(timedAttempt),
    token: request.mayWrite ? formToken(request) : undefined,
    now: clock.now(),
  })
  const content = html`${flash(request.query)}${body}`
  return showOperatorPage(request, reply, { at: '/deliveries', title: 'Deliveries', body: content })
}
