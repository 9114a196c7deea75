import * as z from 'zod'
import { receiverStatus, timedAttempt } from '../../views/deliveries.ts'
import { AttemptShape, ReceiverShape, ReplayedShape } from '../../views/shapes/delivery.ts'
import { count } from '../../views/shapes/words.ts'
import { Problem } from '../problem.ts'
import { atMost, cursor, momentInJson } from '../query.ts'
import { nextOf } from './next-of.ts'
import { ok, pageOf, route, TAKES_NOTHING } from './route.ts'

/** Of an entry of the log, as Redis names it. */
const AFTER = z.string('must be given once').regex(/^\d{1,15}-\d{1,15}$/, 'must be what the list before called next')

export const listDeliveries = route({
  ...TAKES_NOTHING,
  ...{ id: 'listDeliveries', method: 'GET', path: '/deliveries', scope: 'read' },
  summary: 'Attempts to deliver messages',
  query: z.strictObject({ limit: atMost(500, 100), after: cursor(AFTER).optional() }),
  answers: {
    200: {
      description: 'A page of attempts, and the state of deliveries now.',
      json: pageOf(AttemptShape, 'Newest first; the last 10,000 are kept.').extend({
        pending: count('Deliveries that wait for their first or next attempt.'),
        dead: count('Deliveries that were given up and can be sent again.'),
        receivers: z.array(ReceiverShape),
      }),
    },
  },
  ...{ problems: [400], example: { query: { limit: '2' } } },
  answer: async ({ deliveries, receiverStore }, { query: { limit, after } }) => {
    const [pending, dead, attempts, receivers] = await Promise.all([
      deliveries.countPending(),
      deliveries.countDead(),
      deliveries.logFrom(after, limit + 1),
      receiverStore.read(),
    ])
    const page = attempts.slice(0, limit)
    const next = attempts.length > limit ? page.at(-1)?.entry : undefined
    return ok({
      ...{ pending, dead, receivers: receivers.map(receiverStatus) },
      items: page.map(({ attempt }) => timedAttempt(attempt)),
      ...nextOf(next),
    })
  },
})

export const replayDeliveries = route({
  ...TAKES_NOTHING,
  ...{ id: 'replayDeliveries', method: 'POST', path: '/deliveries/replay', scope: 'write' },
  summary: 'Send again what was given up since a moment',
  description: 'Each under its own id, for another three days; nothing to a receiver that is switched off.',
  body: z.strictObject({
    since: momentInJson(),
    receiver: z.string('must be a text').optional().describe('Only what this receiver was to get.'),
  }),
  answers: { 200: { description: 'What is on its way again.', json: ReplayedShape } },
  ...{ problems: [400], example: { body: { since: '2026-11-21T00:00:00Z' } } },
  answer: async ({ actions, clock }, { body: { since, receiver } }) => {
    if (since > clock.now()) throw badRequest('since', 'lies in the future')
    const outcome = await actions.replay({ since, receiver })
    if (outcome.is === 'unknown-receiver') throw badRequest('receiver', outcome.why)
    return ok({ replayed: outcome.replayed, disabled: outcome.disabled })
  },
})

function badRequest(parameter: string, detail: string): Problem {
  return new Problem(400, `${parameter}: ${detail}`, {}, [{ parameter, detail }])
}
