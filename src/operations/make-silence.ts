import * as z from 'zod'
import { parseDuration } from '../../config/schema/duration.ts'
import {
  checkMatcher,
  LONGEST_AUTHOR,
  LONGEST_COMMENT,
  type Matcher,
  newSilence,
  parseMatchers,
} from '../alerts/silence.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'
import { SilenceShape } from '../views/shapes/alert.ts'
import { silenceView, unknownAccounts } from '../views/silenced.ts'
import { aheadField, type Given, jsonField, parsedField, required, textField } from './field.ts'
import { operation } from './operation.ts'
import { wrongField } from './refusal.ts'

const MATCHERS = z.array(
  z.strictObject(
    {
      name: z.string('must be a text').describe('account, level, kind, rule, tag, series, objectType, from or to.'),
      value: z.string('must be a text').describe('`*` matches any characters. Of account: a hub id or a domain.'),
    },
    'must be {name, value}',
  ),
  'must be a list of {name, value}',
)

const TAKES = {
  match: textField(
    'what is silenced, in one line of NAME=VALUE: account, level, kind, rule, tag, series, objectType, from or to; * is anything; ' +
      'several of one name: any of them; different names: all',
    { most: 20_000, isLine: true },
  ),
  matchers: jsonField(MATCHERS, 'the same one by one, in place of `match`'),
  startsAt: aheadField('from when; default: now', { option: 'start' }),
  for: parsedField('how long, like 2h', parseLength, 'must be a duration like 20s, 30m, 2h or 1d'),
  endsAt: aheadField('until when, in place of how long', { option: 'until' }),
  comment: required(textField('why', { most: LONGEST_COMMENT })),
  author: textField('by whom; default: who asks', { most: LONGEST_AUTHOR }),
}

export const silenceMaking = operation({
  id: 'makeSilence',
  route: 'POST /silences',
  is: 'send nothing about some alerts for a while; what still fires at the end is sent then',
  takes: TAKES,
  gives: SilenceShape,
  example: {
    body: {
      match: 'account=1234567 level=warning',
      comment: 'a migration, until noon',
      endsAt: '2026-11-21T12:00:00Z',
    },
  },
  examples: ['--match "account=1234567 level=warning" --for 2h --comment "a planned import"'],
  does: async (deps, { given, who, now }) => {
    const { comment, author = who.name } = given
    const matchers = matchersOf(given, deps.silences.tagNames)
    const startsAt = Math.max(now, given.startsAt?.(now) ?? now)
    if ((given.endsAt === undefined) === (given.for === undefined))
      throw wrongField('endsAt', 'or how long (for) must be given: one of the two')
    const endsAt = given.endsAt?.(now) ?? startsAt + (given.for ?? 0)
    const checked = newSilence({ matchers, author, comment, startsAt, endsAt }, now)
    if (!checked.ok)
      throw wrongField(given[checked.what] === undefined ? ELSE[checked.what] : checked.what, checked.fault)
    const silence = await silenceView(deps, await deps.actions.silence(checked.silence, who), now)
    return { silence, unknown: await unknownAccounts(deps, matchers) }
  },
  json: ({ silence }) => silence,
  statuses: {
    says: { 201: 'It is in force.' },
    of: ({ silence }) => ({ status: 201, location: `/silences/${silence.id}` }),
  },
  notes: ({ unknown }) => unknown.map((name) => `no account is called ${cleanText(name)} now; the silence is kept`),
  show: ({ silence: { id, match, active, startsAt, endsAt, openAlerts } }) => {
    const alerts = openAlerts === 0 ? 'no open alerts' : countOf(openAlerts, 'open alert')
    return [
      `silence ${id}: ${match}, ${active ? '' : `from ${formatTime(startsAt)} `}until ${formatTime(endsAt)}`,
      `It covers ${alerts}. To end it before: plimsoll alerts unsilence ${id}`,
    ]
  },
})

/** By which field a part was given, where it was not by its own. */
const ELSE = { matchers: 'match', author: 'author', comment: 'comment', startsAt: 'startsAt', endsAt: 'for' } as const

function parseLength(text: string): number | undefined {
  return parseDuration(text) || undefined
}

function matchersOf({ match, matchers }: Given<typeof TAKES>, tags: readonly string[]): Matcher[] {
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
