import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { goTo } from '../../access/accept-forms.ts'
import { Problem } from '../../problem.ts'
import { check } from '../../query.ts'
import type { PagesDeps } from '../pages-deps.ts'
import { SINCE } from './since.ts'

/** Which of the deliveries that were given up are sent again. */
export type Replay = { ids: readonly string[] } | { since: number; receiver: string | undefined }

export interface DeliveryActions {
  /** Returns how many are on their way. */
  replay(wanted: Replay): Promise<number>
  /** Sends one test message now, and notes what came of it. */
  testReceiver(name: string): Promise<'delivered' | 'failed' | 'unknown'>
}

type Deps = PagesDeps & { actions: DeliveryActions }

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
  const count = await actions.replay('delivery' in given ? { ids: [given.delivery] } : replaySince(given, clock.now()))
  return goTo(reply, `/deliveries?done=replayed&count=${count}`)
}

function replaySince({ since, receiver }: { since: string; receiver: string }, now: number): Replay {
  const ms = SINCE.find(({ value }) => value === since)?.ms ?? 0
  return { since: now - ms, receiver: receiver === '' ? undefined : receiver }
}

async function test({ actions }: Deps, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { receiver } = check(z.object({ receiver: name }), request.body ?? {})
  const is = await actions.testReceiver(receiver)
  if (is === 'unknown') throw new Problem(404, `There is no receiver ${receiver.slice(0, 60)} here.`)
  return goTo(reply, `/deliveries?done=${is === 'delivered' ? 'tested' : 'test-failed'}#attempts`)
}
