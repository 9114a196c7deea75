import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Replay } from '../../../delivery/deliveries.ts'
import { goTo } from '../../access/accept-forms.ts'
import type { Actions } from '../../actions.ts'
import { Problem } from '../../problem.ts'
import { check } from '../../query.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { SINCE } from './since.ts'

type Deps = PagesDeps & { actions: Pick<Actions, 'replay' | 'testReceiver'> }

/** What the forms of the page of deliveries send. */
export function serveDeliveryForms(app: FastifyInstance, deps: Deps): void {
  app.post('/deliveries/replay', (request, reply) => replay(deps, request, reply))
  app.post('/deliveries/test', (request, reply) => test(deps, request, reply))
}

const name = z.string('must be given').max(200, 'is longer than 200 characters')
const REPLAY = z.union([
  z.object({ delivery: name }),
  z.object({
    since: z.enum(
      SINCE.map(({ value }) => value),
      `must be one of ${SINCE.map(({ value }) => value).join(', ')}`,
    ),
    receiver: name.default(''),
  }),
])

async function replay({ actions, clock }: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const given = check(REPLAY, request.body ?? {})
  const outcome = await actions.replay(
    'delivery' in given ? { ids: [given.delivery] } : replaySince(given, clock.now()),
  )
  if (outcome.is === 'unknown-receiver') throw new Problem(404, outcome.why)
  return goTo(reply, `/deliveries?done=replayed&count=${outcome.replayed}`)
}

function replaySince({ since, receiver }: { since: string; receiver: string }, now: number): Replay {
  const ms = SINCE.find(({ value }) => value === since)?.ms ?? 0
  return { since: now - ms, receiver: receiver === '' ? undefined : receiver }
}

async function test({ actions }: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { receiver } = check(z.object({ receiver: name }), request.body ?? {})
  const tested = await actions.testReceiver(receiver)
  if (tested === undefined) throw new Problem(404, `There is no receiver ${receiver.slice(0, 60)} here.`)
  return goTo(reply, `/deliveries?done=${tested.outcome.outcome === 'delivered' ? 'tested' : 'test-failed'}#attempts`)
}
