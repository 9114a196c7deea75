import * as z from 'zod'
import { receiverStatus, receiverTestJson } from '../../views/deliveries.ts'
import { ReceiverShape, ReceiverTestShape } from '../../views/shapes/delivery.ts'
import { Problem } from '../problem.ts'
import { requireRedis } from '../redis-away.ts'
import { ok, route, TAKES_NOTHING } from './route.ts'

export const listReceivers = route({
  ...TAKES_NOTHING,
  ...{ id: 'listReceivers', method: 'GET', path: '/receivers', scope: 'read' },
  summary: 'The state of each receiver',
  answers: {
    200: { description: 'All of them.', json: z.object({ items: z.array(ReceiverShape).describe('By name.') }) },
  },
  ...{ problems: [], example: {} },
  answer: async ({ receiverStore }) => ok({ items: (await receiverStore.read()).map(receiverStatus) }),
})

export const testReceiver = route({
  ...TAKES_NOTHING,
  ...{ id: 'testReceiver', method: 'POST', path: '/receivers/{name}/test', scope: 'write' },
  summary: 'Send a test message now',
  description: 'Through the same code as alerts; one that arrives enables a receiver that is switched off.',
  params: z.object({ name: z.string().describe('Its name in the config.') }),
  answers: { 200: { description: 'The result; `outcome` shows whether it arrived.', json: ReceiverTestShape } },
  ...{ problems: [404], example: { params: { name: 'ops-hook' } } },
  answer: async ({ actions, store }, { params: { name } }) => {
    await requireRedis(store)
    const tested = await actions.testReceiver(name)
    if (tested === undefined) throw new Problem(404, `No receiver is called ${name.slice(0, 40)}.`)
    return ok(receiverTestJson(name, tested))
  },
})
