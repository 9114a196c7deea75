import * as z from 'zod'
import { checkMatcher, type Matcher, newSilence, parseMatchers, type Silence } from '../../alerts/silence.ts'
import { SilenceShape } from '../../views/shapes/alert.ts'
import { countCovered, silenceJson } from '../../views/silenced.ts'
import { Problem, wrongParameter } from '../problem.ts'
import { momentInJson } from '../query.ts'
import type { WebDeps } from '../web-deps.ts'
import { route } from './route.ts'

const NEW_SILENCE = z.strictObject({
  match: z
    .string('must be a text')
    .optional()
    .describe('What is silenced, in one line as on the command line: `account=1234567 level=warning`.'),
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
    .optional()
    .describe('The same one by one, in place of `match`. Several of one name mean any of them, different names all.'),
  comment: z.string('must be a text').describe('Why.'),
  startsAt: momentInJson().optional().describe('Default: now.'),
  endsAt: momentInJson(),
  author: z.string('must be a text').optional().describe('Default: the name of the admin token.'),
})

const OF_SILENCE = z.object({ id: z.string().describe('Its id.') })
const EXAMPLE = { params: { id: 's-4k7mp' } }

export const silenceRoutes = [
  route('makeSilence', 'POST /silences', {
    summary: 'Silence alerts until a moment',
    description: 'Alerts that it held back and that still fire are sent when it ends.',
    body: NEW_SILENCE,
    answers: { 201: { description: 'It is in force.', json: SilenceShape } },
    problems: [400],
    example: {
      body: {
        match: 'account=1234567 level=warning',
        comment: 'a migration, until noon',
        endsAt: '2026-11-21T12:00:00Z',
      },
    },
    answer: async (deps, { body, who }) => {
      const matchers = matchersOf(body, deps.silences.tagNames)
      const checked = newSilence({ ...body, matchers, author: body.author ?? who.name }, deps.clock.now())
      if (!checked.ok)
        throw wrongParameter(checked.what === 'matchers' && !body.matchers ? 'match' : checked.what, checked.fault)
      const silence = await deps.actions.silence(checked.silence, who)
      return { status: 201 as const, location: `/api/v1/silences/${silence.id}`, json: await shownOne(deps, silence) }
    },
  }),

  route('showSilence', 'GET /silences/{id}', {
    summary: 'One silence',
    params: OF_SILENCE,
    answers: { 200: { description: 'The silence.', json: SilenceShape } },
    problems: [404],
    example: EXAMPLE,
    answer: async (deps, { params: { id } }) => {
      const silence = (await deps.silences.all()).find((one) => one.id === id)
      if (silence === undefined) throw unknownSilence(id)
      return { json: await shownOne(deps, silence) }
    },
  }),

  route('endSilence', 'DELETE /silences/{id}', {
    summary: 'End a silence: alerts that it covered and that still fire are sent now',
    params: OF_SILENCE,
    answers: { 200: { description: 'It is over.', json: SilenceShape } },
    problems: [404],
    example: EXAMPLE,
    answer: async (deps, { params: { id }, who }) => {
      const ended = await deps.actions.unsilence(id, who)
      if (ended.is === 'unknown') throw unknownSilence(id)
      return { json: await shownOne(deps, ended.silence) }
    },
  }),
]

function matchersOf({ match, matchers }: z.output<typeof NEW_SILENCE>, tags: readonly string[]): Matcher[] {
  if (match !== undefined && matchers !== undefined)
    throw wrongParameter('match', 'is set beside matchers: keep one of the two')
  if (matchers === undefined) {
    const parsed = parseMatchers(match ?? '', tags)
    if (!parsed.ok) throw wrongParameter('match', parsed.fault)
    return parsed.matchers
  }
  return matchers.map(({ name, value }, index) => {
    const checked = checkMatcher(name, value, tags)
    if (!checked.ok) throw wrongParameter(`matchers.${index}`, checked.fault)
    return checked.matcher
  })
}

async function shownOne(
  deps: Pick<WebDeps, 'store' | 'keys' | 'registry' | 'clock'>,
  silence: Silence,
): Promise<SilenceShape> {
  const counts = await countCovered(deps, [silence])
  return silenceJson(silence, counts.get(silence.id) ?? 0, deps.clock.now())
}

function unknownSilence(id: string): Problem {
  return new Problem(404, `There is no silence ${id.slice(0, 40)}.`)
}
