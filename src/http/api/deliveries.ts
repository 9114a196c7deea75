import * as z from 'zod'
import { pageShape } from '../../operations/operation.ts'
import { receiverStatus, receiverTestJson } from '../../views/deliveries.ts'
import { AttemptShape, ReceiverShape, ReceiverTestShape } from '../../views/shapes/delivery.ts'
import { count } from '../../views/shapes/words.ts'
import { Problem } from '../problem.ts'
import { atMost, cursor } from '../query.ts'
import { requireRedis } from '../redis-away.ts'
import { nextOf, route } from './route.ts'

/** Id of an entry of the log in Redis. */
const AFTER = z.string('must be given once').regex(/^\d{1,15}-\d{1,15}$/, 'must be what the list before called next')

export const deliveryRoutes = [
  route('listDeliveries', 'GET /deliveries', {
    summary: 'Attempts to deliver messages',
    query: z.strictObject({ limit: atMost(500, 100), after: cursor(AFTER).optional() }),
    gives: {
      description: 'A page of attempts, and the state of deliveries now.',
      json: pageShape(AttemptShape, 'Newest first; the last 10,000 are kept.').extend({
        pending: count('Deliveries that wait for their first or next attempt.'),
        dead: count('Deliveries that were given up and can be sent again.'),
        receivers: z.array(ReceiverShape),
      }),
    },
    problems: [400],
    example: { query: { limit: '2' } },
    answer: async ({ deliveries, receiverStore }, { query: { limit, after } }) => {
      const [pending, dead, attempts, receivers] = await Promise.all([
        deliveries.countPending(),
        deliveries.countDead(),
        deliveries.logFrom(after, limit + 1),
        receiverStore.read(),
      ])
      const page = attempts.slice(0, limit)
      const next = attempts.length > limit ? page.at(-1)?.entry : undefined
      const items = page.map(({ attempt }) => attempt)
      return { json: { pending, dead, receivers: receivers.map(receiverStatus), items, ...nextOf(next) } }
    },
  }),

  route('listReceivers', 'GET /receivers', {
    summary: 'The state of each receiver',
    gives: { description: 'All of them.', json: z.object({ items: z.array(ReceiverShape).describe('By name.') }) },
    answer: async ({ receiverStore }) => ({ json: { items: (await receiverStore.read()).map(receiverStatus) } }),
  }),

  route('testReceiver', 'POST /receivers/{name}/test', {
    summary: 'Send a test message now',
    description: 'Through the same code as alerts; one that arrives enables a receiver that is switched off.',
    params: z.object({ name: z.string().describe('Its name in the config.') }),
    gives: { description: 'The result; `outcome` shows whether it arrived.', json: ReceiverTestShape },
    problems: [404],
    example: { params: { name: 'ops-hook' } },
    answer: async ({ actions, store }, { params: { name }, who }) => {
      await requireRedis(store)
      const tested = await actions.testReceiver(name, who)
      if (tested === undefined) throw new Problem(404, `No receiver is called ${name.slice(0, 40)}.`)
      return { json: receiverTestJson(name, tested) }
    },
  }),
]
