import * as z from 'zod'
import { checkMatcher, newSilence, type Silence } from '../../alerts/silence.ts'
import { SilenceShape } from '../../views/shapes/alert.ts'
import { countCovered, silenceJson } from '../../views/silenced.ts'
import { Problem } from '../problem.ts'
import { atMost, cursor, momentInJson, oneOf } from '../query.ts'
import type { ApiDeps } from './api-deps.ts'
import { nextOf } from './next-of.ts'
import { ok, pageOf, route, TAKES_NOTHING } from './route.ts'

/** The end and the id of the silence that came last. */
const AFTER = z.string('must be given once').regex(/^\d{1,16}\..{1,40}$/, 'must be what the list before called next')

export const listSilences = route({
  ...TAKES_NOTHING,
  ...{ id: 'listSilences', method: 'GET', path: '/silences', scope: 'read' },
  summary: 'Silences',
  query: z.strictObject({
    all: oneOf(['true', 'false']).default('false').describe('`true`: also those that ended in the last five days.'),
    limit: atMost(500, 100),
    after: cursor(AFTER).optional(),
  }),
  answers: {
    200: { description: 'A page of silences.', json: pageOf(SilenceShape, 'The one that ends first first.') },
  },
  ...{ problems: [400], example: { query: { all: 'true' } } },
  answer: async (deps, { query: { all, limit, after } }) => {
    const now = deps.clock.now()
    const found = all === 'true' ? await deps.silences.all() : await deps.silences.active(now)
    const rest = found.filter((silence) => after === undefined || comesAfter(silence, after))
    const page = rest.slice(0, limit)
    const counts = await countCovered(deps, page)
    const items = page.map((silence) => silenceJson(silence, counts.get(silence.id) ?? 0, now))
    const last = rest.length > limit ? page.at(-1) : undefined
    return ok({ items, ...nextOf(last && `${last.endsAt}.${last.id}`) })
  },
})

function comesAfter({ endsAt, id }: Silence, cursor: string): boolean {
  const dot = cursor.indexOf('.')
  const [cursorEnd, cursorId] = [Number(cursor.slice(0, dot)), cursor.slice(dot + 1)]
  return endsAt > cursorEnd || (endsAt === cursorEnd && id > cursorId)
}

const NEW_SILENCE = z.strictObject({
  matchers: z
    .array(
      z.strictObject(
        {
          name: z.string('must be a text').describe('account, level, kind, rule, tag, series, objectType, from or to.'),
          value: z.string('must be a text').describe('`*` matches any characters. Of account: a hub id or a domain.'),
        },
        'must be {name, value}',
      ),
      'must be a list of {name, value}',
    )
    .describe('Several of one name mean any of them, different names all.'),
  comment: z.string('must be a text').describe('Why.'),
  endsAt: momentInJson(),
  author: z.string('must be a text').optional().describe('Default: the name of the admin token.'),
})

export const makeSilence = route({
  ...TAKES_NOTHING,
  ...{ id: 'makeSilence', method: 'POST', path: '/silences', scope: 'write' },
  summary: 'Silence alerts until a moment',
  description: 'Alerts that it held back and that still fire are sent when it ends.',
  body: NEW_SILENCE,
  answers: { 201: { description: 'It is in force.', json: SilenceShape } },
  problems: [400],
  example: {
    body: {
      matchers: [{ name: 'account', value: '1234567' }],
      comment: 'a migration, until noon',
      endsAt: '2026-11-21T12:00:00Z',
    },
  },
  answer: async (deps, { body, caller }) => {
    const now = deps.clock.now()
    const matchers = body.matchers.map(({ name, value }, index) => {
      const checked = checkMatcher(name, value, deps.silences.tagNames)
      if (!checked.ok) throw badRequest(`matchers.${index}`, checked.fault)
      return checked.matcher
    })
    const checked = newSilence({ ...body, matchers, author: body.author ?? caller }, now)
    if (!checked.ok) throw badRequest(checked.what, checked.fault)
    const silence = await deps.actions.silence(checked.silence)
    return { status: 201 as const, location: `/api/v1/silences/${silence.id}`, json: await told(deps, silence) }
  },
})

const OF_SILENCE = z.object({ id: z.string().describe('Its id.') })
const EXAMPLE = { params: { id: 's-4k7mp' } }

export const showSilence = route({
  ...TAKES_NOTHING,
  ...{ id: 'showSilence', method: 'GET', path: '/silences/{id}', scope: 'read' },
  summary: 'One silence',
  params: OF_SILENCE,
  answers: { 200: { description: 'The silence.', json: SilenceShape } },
  ...{ problems: [404], example: EXAMPLE },
  answer: async (deps, { params: { id } }) => {
    const silence = (await deps.silences.all()).find((one) => one.id === id)
    if (silence === undefined) throw unknownSilence(id)
    return ok(await told(deps, silence))
  },
})

export const endSilence = route({
  ...TAKES_NOTHING,
  ...{ id: 'endSilence', method: 'DELETE', path: '/silences/{id}', scope: 'write' },
  summary: 'End a silence: alerts that it covered and that still fire are sent now',
  params: OF_SILENCE,
  answers: { 200: { description: 'It is over.', json: SilenceShape } },
  ...{ problems: [404], example: EXAMPLE },
  answer: async (deps, { params: { id } }) => {
    const ended = await deps.actions.unsilence(id)
    if (ended.is === 'unknown') throw unknownSilence(id)
    return ok(await told(deps, ended.silence))
  },
})

async function told(deps: ApiDeps, silence: Silence): Promise<SilenceShape> {
  const counts = await countCovered(deps, [silence])
  return silenceJson(silence, counts.get(silence.id) ?? 0, deps.clock.now())
}

function unknownSilence(id: string): Problem {
  return new Problem(404, `There is no silence ${id.slice(0, 40)}.`)
}

function badRequest(parameter: string, detail: string): Problem {
  return new Problem(400, `${parameter}: ${detail}`, {}, [{ parameter, detail }])
}
