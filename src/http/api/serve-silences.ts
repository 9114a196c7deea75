import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { EndedSilence } from '../../alerts/silences/end-silence.ts'
import { newSilence } from '../../alerts/silences/new-silence.ts'
import { checkMatcher } from '../../alerts/silences/parse-matcher.ts'
import type { Silence } from '../../alerts/silences/silence.ts'
import type { SilenceStore } from '../../alerts/silences/silence-store.ts'
import type { FleetStatusDeps } from '../../views/fleet-status.ts'
import { countCovered, silenceJson } from '../../views/silenced.ts'
import { Problem } from '../problem.ts'
import { check, momentInJson, oneOf } from '../query.ts'

export interface SilencesDeps extends FleetStatusDeps {
  silences: SilenceStore
  actions: {
    silence(silence: Omit<Silence, 'id'>): Promise<Silence>
    unsilence(id: string): Promise<EndedSilence>
  }
}

/** Silences, for programs. */
export function serveSilences(app: FastifyInstance, deps: SilencesDeps): void {
  app.get('/silences', (request) => listSilences(deps, request.query))
  app.post('/silences', (request, reply) => makeSilence(deps, request, reply))
  app.delete('/silences/:id', (request) => endSilence(deps, request))
}

const SILENCE_LIST = z.strictObject({ all: oneOf(['true', 'false']).default('false') })

async function listSilences(deps: SilencesDeps, query: unknown): Promise<object> {
  const { all } = check(SILENCE_LIST, query)
  const now = deps.clock.now()
  const silences = all === 'true' ? await deps.silences.all() : await deps.silences.active(now)
  const counts = await countCovered(deps, silences)
  return { items: silences.map((silence) => silenceJson(silence, counts.get(silence.id) ?? 0, now)) }
}

const NEW_SILENCE = z.strictObject({
  matchers: z.array(
    z.strictObject({ name: z.string('must be a text'), value: z.string('must be a text') }, 'must be {name, value}'),
    'must be a list of {name, value}',
  ),
  comment: z.string('must be a text'),
  endsAt: momentInJson(),
  author: z.string('must be a text').optional(),
})

async function makeSilence(deps: SilencesDeps, request: FastifyRequest, reply: FastifyReply): Promise<object> {
  const given = check(NEW_SILENCE, request.body ?? {})
  const now = deps.clock.now()
  const matchers = given.matchers.map(({ name, value }, index) => {
    const checked = checkMatcher(name, value, deps.silences.tagNames)
    if (!checked.ok) throw badRequest(`matchers.${index}`, checked.fault)
    return checked.matcher
  })
  const checked = newSilence({ ...given, matchers, author: given.author ?? request.caller }, now)
  if (!checked.ok) throw badRequest(checked.what, checked.fault)
  const silence = await deps.actions.silence(checked.silence)
  const counts = await countCovered(deps, [silence])
  return reply.code(201).send(silenceJson(silence, counts.get(silence.id) ?? 0, now))
}

async function endSilence(deps: SilencesDeps, request: FastifyRequest): Promise<object> {
  const { id } = request.params as { id: string }
  const ended = await deps.actions.unsilence(id)
  if (ended.is === 'unknown') throw new Problem(404, `There is no silence ${id.slice(0, 40)}.`)
  const counts = await countCovered(deps, [ended.silence])
  return silenceJson(ended.silence, counts.get(ended.silence.id) ?? 0, deps.clock.now())
}

function badRequest(parameter: string, detail: string): Problem {
  return new Problem(400, `${parameter}: ${detail}`, {}, [{ parameter, detail }])
}
