import * as z from 'zod'
import {
  checkMatcher,
  LONGEST_AUTHOR,
  LONGEST_COMMENT,
  type Matcher,
  newSilence,
  parseMatchers,
} from '../alerts/silence.ts'
import { cleanText } from '../text/clean-text.ts'
import { number, prose, spare, whole } from '../text/columns.ts'
import { countOf, formatDistance } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import { SilenceShape, UnsilencedShape } from '../views/shapes/alert.ts'
import { silenceView, silenceViews, unknownAccounts } from '../views/silenced.ts'
import { cursorField, durationField, flagField, limitField, textField, timeField } from './input.ts'
import { operation, pageJson, pageShape } from './operation.ts'
import { Refusal, wrongField } from './refusal.ts'
import { numberAndId, pageOfList } from './searches.ts'

const MATCHERS = z.array(
  z.strictObject(
    {
      name: z.string('must be a text').describe('account, level, kind, rule, tag, series, objectType, from or to.'),
      value: z.string('must be a text').describe('`*` matches any characters. For account: a hub id or a domain.'),
    },
    'must be {name, value}',
  ),
  'must be a list of {name, value}',
)

const NEW_SILENCE = z.strictObject({
  match: textField(
    'what is silenced, in one line of NAME=VALUE: account, level, kind, rule, tag, series, objectType, from or to; * is anything; ' +
      'several of one name: any of them; different names: all',
    { most: 20_000, 'x-line': true },
  ).optional(),
  matchers: MATCHERS.meta({
    description: 'the same one by one, in place of `match`',
    'x-option': false,
  }).optional(),
  startsAt: timeField('from when; default: now', { 'x-option': 'start' }).optional(),
  for: durationField('how long, like 2h').optional(),
  endsAt: timeField('until when, in place of how long', { 'x-option': 'until' }).optional(),
  comment: textField('why', { most: LONGEST_COMMENT }),
  author: textField('by whom; default: who asks', { most: LONGEST_AUTHOR }).optional(),
})

export const makeSilence = operation({
  id: 'makeSilence',
  method: 'POST',
  path: '/silences',
  summary: 'send nothing about some alerts for a while; what still fires at the end is sent then',
  input: NEW_SILENCE,
  output: SilenceShape,
  answers: { 201: 'The silence is in force.' },
  example: {
    body: {
      match: 'account=1234567 level=warning',
      comment: 'a migration, until noon',
      endsAt: '2026-11-21T12:00:00Z',
    },
  },
  command: {
    name: 'alerts silence',
    examples: ['--match "account=1234567 level=warning" --for 2h --comment "a planned import"'],
  },
  run: async (deps, { input, who, now }) => {
    const { comment, author = who.name } = input
    const matchers = matchersOf(input, deps.silences.tagNames)
    const startsAt = Math.max(now, input.startsAt?.(now) ?? now)
    if ((input.endsAt === undefined) === (input.for === undefined))
      throw wrongField('endsAt', 'or how long (for) must be given: one of the two')
    const endsAt = input.endsAt?.(now) ?? startsAt + (input.for ?? 0)
    const checked = newSilence({ matchers, author, comment, startsAt, endsAt }, now)
    if (!checked.ok)
      throw wrongField(input[checked.what] === undefined ? ELSE[checked.what] : checked.what, checked.fault)
    const silence = await silenceView(deps, await deps.actions.silence(checked.silence, who), now)
    return { silence, unknown: await unknownAccounts(deps, matchers) }
  },
  json: ({ silence }) => silence,
  statusOf: ({ silence }) => ({ status: 201, location: `/silences/${silence.id}` }),
  notes: ({ unknown }) => unknown.map((name) => `no account is called ${cleanText(name)} now; the silence is kept`),
  table: ({ silence: { id, match, active, startsAt, endsAt, openAlerts } }) => {
    const alerts = openAlerts === 0 ? 'no open alerts' : countOf(openAlerts, 'open alert')
    return [
      `silence ${id}: ${match}, ${active ? '' : `from ${formatTime(startsAt)} `}until ${formatTime(endsAt)}`,
      `It covers ${alerts}. To end it before: plimsoll alerts unsilence ${id}`,
    ]
  },
})

/** By which field a part was given, where it was not by its own. */
const ELSE = { matchers: 'match', author: 'author', comment: 'comment', startsAt: 'startsAt', endsAt: 'for' } as const

function matchersOf({ match, matchers }: z.output<typeof NEW_SILENCE>, tags: readonly string[]): Matcher[] {
  if (match !== undefined && matchers !== undefined)
    throw wrongField('match', 'is set beside matchers: keep one of the two')
  if (matchers === undefined) {
    const parsed = parseMatchers(match ?? '', tags)
    if (!parsed.ok) throw wrongField('match', parsed.fault)
    return parsed.matchers
  }
  return matchers.map(({ name, value }, index) => {
    const checked = checkMatcher(name, value, tags)
    if (!checked.ok) throw wrongField(`matchers.${index}`, checked.fault)
    return checked.matcher
  })
}

export const endSilence = operation({
  id: 'endSilence',
  method: 'DELETE',
  path: '/silences/{id}',
  summary: 'end a silence now; what still fires is sent',
  input: z.strictObject({ id: textField('the silence') }),
  output: UnsilencedShape,
  problems: [404],
  example: { params: { id: 's-4k7mp' } },
  command: { name: 'alerts unsilence', args: '<id>', examples: ['s-4k7mp'] },
  run: async (deps, { input: { id }, who, now }) => {
    const ended = await deps.actions.unsilence(id, who)
    if (ended.is === 'unknown') throw noSilence(id)
    return { ...(await silenceView(deps, ended.silence, now)), outcome: ended.is }
  },
  table: ({ id, outcome, endsAt }) => [
    outcome === 'ended'
      ? `silence ${id} is ended: what it covered and still fires is sent now`
      : `silence ${id} was over already: it ended ${formatTime(endsAt)}`,
  ],
})

export const showSilence = operation({
  id: 'showSilence',
  method: 'GET',
  path: '/silences/{id}',
  summary: 'one silence',
  input: z.strictObject({ id: textField('the silence') }),
  output: SilenceShape,
  problems: [404],
  example: { params: { id: 's-4k7mp' } },
  run: async (deps, { input: { id }, now }) => {
    const silence = (await deps.silences.all()).find((one) => one.id === id)
    if (silence === undefined) throw noSilence(id)
    return silenceView(deps, silence, now)
  },
})

function noSilence(id: string): Refusal {
  return new Refusal('unknown', `there is no silence ${id.slice(0, 40)}`, {
    hint: 'plimsoll alerts silences shows all',
  })
}

export const listSilences = operation({
  id: 'listSilences',
  method: 'GET',
  path: '/silences',
  summary:
    'list the silences in force, and those that begin later: what, by whom, why, from when until when, how many open alerts',
  input: z.strictObject({
    all: flagField('also those that ended in the last five days'),
    limit: limitField(),
    // The end and the id of the silence that came last.
    after: cursorField(/^\d{1,16}\..{1,40}$/),
  }),
  output: pageShape(SilenceShape, 'The one that ends first first.'),
  example: { query: { all: 'true' } },
  command: { name: 'alerts silences' },
  run: async (deps, { input: { all, limit, after }, now }) => {
    const found = all ? await deps.silences.all() : await deps.silences.current(now)
    const [afterAt, afterId] = after === undefined ? [-1, ''] : numberAndId(after)
    const rest = found.filter(({ endsAt, id }) => endsAt > afterAt || (endsAt === afterAt && id > afterId))
    const { items, next } = pageOfList(rest, limit, (last) => `${last.endsAt}.${last.id}`)
    return { next, items: await silenceViews(deps, items, now) }
  },
  json: pageJson,
  table: ({ items }, { now }) => {
    if (items.length === 0) return ['no silences in force']
    const what = [whole('ID'), prose('WHAT'), 'BY', prose('WHY')]
    const columns = [...what, spare(whole('STARTS')), whole('ENDS'), number('OPEN ALERTS')]
    const distance = (at: string) => formatDistance(Date.parse(at) - now)
    const rows = items.map(({ id, match, author, comment, startsAt, endsAt, openAlerts }) => [
      id,
      match,
      author,
      comment,
      Date.parse(startsAt) <= now ? '' : distance(startsAt),
      distance(endsAt),
      String(openAlerts),
    ])
    return [{ columns, rows }]
  },
})
