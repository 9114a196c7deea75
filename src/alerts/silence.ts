import { isAccount } from '../accounts/match-account.ts'
import { METRICS } from '../limits/reports/all-reports.ts'
import { fits } from '../text/pattern.ts'
import { suggest } from '../text/suggest.ts'
import type { Alert, AlertKind, AlertLevel } from './alert.ts'

export const MATCHER_NAMES = ['account', 'level', 'kind', 'rule', 'tag', 'series', 'objectType', 'from', 'to'] as const
export type MatcherName = (typeof MATCHER_NAMES)[number]

export interface Matcher {
  name: MatcherName
  /** `*` matches any characters. Of `account`: a hubId or a domain. */
  value: string
  /** For `tag`: hubIds and patterns of domains that carry it, by the caller's config. */
  accounts?: readonly string[]
}

/** Alerts that are held back for a while. */
export interface Silence {
  id: string
  /** Several of one name: any of them; different names: all. */
  matchers: readonly Matcher[]
  author: string
  comment: string
  /** ms */
  createdAt: number
  /** ms; absent: from when it was made on. */
  startsAt?: number
  /** ms; earlier than planned where it was ended. */
  endsAt: number
  /** Somebody ended it: it holds nothing back any more, whatever the clock says later. */
  isEnded?: boolean
}

/** The alert as silences match it. */
export type Silenceable = Pick<Alert, 'kind' | 'level' | 'rule' | 'account' | 'series'>

/** The silence that an alert is under; of several the one that lasts longest. */
export function silenceOf(silences: readonly Silence[], alert: Silenceable, now: number): Silence | undefined {
  return silences
    .filter((silence) => isInForce(silence, now) && covers(silence, alert))
    .reduce<Silence | undefined>((longest, one) => ((longest?.endsAt ?? 0) >= one.endsAt ? longest : one), undefined)
}

/** Without a start of its own a silence is in force at once. */
export function isInForce(silence: Silence, now: number): boolean {
  return !isOver(silence, now) && now >= (silence.startsAt ?? now)
}

/** By the end alone, one that somebody ended would be in force again where the clock is set back. */
export function isOver({ endsAt, isEnded = false }: Silence, now: number): boolean {
  return isEnded || endsAt <= now
}

/** True where the silence's matchers fit the alert, in force or not. */
export function covers({ matchers }: Pick<Silence, 'matchers'>, alert: Silenceable): boolean {
  const byName = Map.groupBy(matchers, ({ name }) => name)
  return [...byName.values()].every((any) => any.some((matcher) => matches(matcher, alert)))
}

function matches(
  { name, value, accounts = [] }: Matcher,
  { kind, level, rule, account, series }: Silenceable,
): boolean {
  switch (name) {
    case 'account':
      return account !== undefined && isAccount(value, account)
    case 'tag':
      return account !== undefined && accounts.some((wanted) => isAccount(wanted, account))
    case 'level':
      return fits(value, level)
    case 'kind':
      return fits(value, kind)
    case 'rule':
      return fits(value, rule)
    case 'series':
      return series !== undefined && fits(value, series.metric)
    case 'objectType':
      return series?.objectTypeId !== undefined && fits(value, series.objectTypeId)
    case 'from':
    case 'to':
      return series?.[name] !== undefined && fits(value, series[name])
  }
}

/** Silences whose tags name the accounts that carry them. A tag without a definition is carried by none. */
export function withCarriers(
  silences: readonly Silence[],
  tags: Readonly<Record<string, readonly string[]>>,
): Silence[] {
  const carriers = (wanted: string) =>
    Object.entries(tags).flatMap(([name, accounts]) => (fits(wanted, name) ? accounts : []))
  return silences.map((silence) => ({
    ...silence,
    matchers: silence.matchers.map((matcher) =>
      matcher.name === 'tag' ? { ...matcher, accounts: carriers(matcher.value) } : matcher,
    ),
  }))
}

/** In one line, as people write them: `account=123 level=warning`. */
export function matchersText(matchers: readonly Matcher[]): string {
  return matchers.map(({ name, value }) => `${name}=${value}`).join(' ')
}

/** A request; texts as they were written. */
export interface SilenceRequest {
  matchers: readonly Matcher[]
  author: string
  comment: string
  /** ms; absent, or past: from now on. */
  startsAt?: number | undefined
  /** ms */
  endsAt: number
}

export type NewSilence =
  | { ok: true; silence: Omit<Silence, 'id'> }
  | { ok: false; what: 'matchers' | 'author' | 'comment' | 'startsAt' | 'endsAt'; fault: string }

/** A silence that is longer than this was meant to be for ever: a rule that is off is better for that. */
const LONGEST_DAYS = 366
export const LONGEST_COMMENT = 500
export const LONGEST_AUTHOR = 100
const MOST_MATCHERS = 100

export function newSilence(request: SilenceRequest, now: number): NewSilence {
  const [author, comment] = [request.author.trim(), request.comment.trim()]
  const { matchers, startsAt = now, endsAt } = request
  if (matchers.length === 0) return no('matchers', 'at least one is needed; kind=* matches all alerts')
  if (matchers.length > MOST_MATCHERS) return no('matchers', `at most ${MOST_MATCHERS} are possible`)
  if (author === '') return no('author', 'must not be empty')
  if (author.length > LONGEST_AUTHOR) return no('author', `is longer than ${LONGEST_AUTHOR} characters`)
  if (comment === '') return no('comment', 'must not be empty: give the reason')
  if (comment.length > LONGEST_COMMENT) return no('comment', `is longer than ${LONGEST_COMMENT} characters`)
  if (endsAt <= now) return no('endsAt', 'lies in the past')
  if (startsAt >= endsAt) return no('startsAt', 'must be before the end')
  if (endsAt > now + LONGEST_DAYS * 86_400_000) {
    return no('endsAt', `is more than ${LONGEST_DAYS} days away: for good there is a rule with off: true`)
  }
  return {
    ok: true,
    silence: { matchers, author, comment, createdAt: now, ...(startsAt > now && { startsAt }), endsAt },
  }
}

function no(what: Extract<NewSilence, { ok: false }>['what'], fault: string): NewSilence {
  return { ok: false, what, fault }
}

const LEVELS = ['warning', 'critical'] as const satisfies readonly AlertLevel[]
const KINDS: readonly AlertKind[] = ['limit', 'limit-changed', 'token', 'poll', 'fleet', 'delivery', 'test']

export type ParsedMatcher = { ok: true; matcher: Matcher } | { ok: false; fault: string }

const MOST_CHARACTERS = 200

export type ParsedMatchers = { ok: true; matchers: Matcher[] } | { ok: false; fault: string }

const NEXT_MATCHER = new RegExp(`\\s+(?=(?:${MATCHER_NAMES.join('|')})\\s*=)`)

/** `account=123 level=warning rule=custom properties`, as people write it: a value goes on to the next name. */
export function parseMatchers(line: string, tags: readonly string[]): ParsedMatchers {
  const parsed =
    line.trim() === ''
      ? []
      : line
          .trim()
          .split(NEXT_MATCHER)
          .map((one) => parseMatcher(one, tags))
  const matchers: Matcher[] = []
  for (const one of parsed) {
    if (!one.ok) return one
    // A name that is misspelled would be a part of the value before it.
    const [, misspelled] = /\s(\w+)\s*=/.exec(one.matcher.value) ?? []
    if (misspelled !== undefined) return fault(unknownMatcher(misspelled))
    matchers.push(one.matcher)
  }
  return { ok: true, matchers }
}

/** `account=123`. */
export function parseMatcher(text: string, tags: readonly string[]): ParsedMatcher {
  const at = text.indexOf('=')
  if (at === -1)
    return fault(`"${shown(text)}" is not a matcher: write NAME=VALUE, such as account=123 or level=warning`)
  return checkMatcher(text.slice(0, at).trim(), text.slice(at + 1).trim(), tags)
}

/** A matcher in two parts. What could match nothing is refused: a silence that silences nothing is found out too late. */
export function checkMatcher(name: string, value: string, tags: readonly string[]): ParsedMatcher {
  const known = MATCHER_NAMES.find((one) => one === name)
  if (known === undefined) return fault(unknownMatcher(name))
  if (value === '') return fault(`${known} has no value: * matches any text`)
  if (value.length > MOST_CHARACTERS) return fault(`the value of ${known} is longer than ${MOST_CHARACTERS} characters`)
  if (/\p{Cc}/u.test(value)) return fault(`the value of ${known} is not text on one line`)
  const why = faultOfValue(known, value, tags)
  return why === undefined ? { ok: true, matcher: { name: known, value } } : fault(why)
}

function unknownMatcher(name: string): string {
  return `"${shown(name)}" is not a matcher name${hint(name, MATCHER_NAMES)}`
}

function faultOfValue(name: MatcherName, value: string, tags: readonly string[]): string | undefined {
  switch (name) {
    case 'account':
      return /[\s,=]/.test(value) ? 'account must be a hub id, or a domain in which * matches any text' : undefined
    case 'level':
      return faultOfName(name, value, LEVELS)
    case 'kind':
      return faultOfName(name, value, KINDS)
    case 'series':
      return faultOfName(name, value, METRICS)
    case 'tag':
      return tags.length === 0 ? 'the config has no tags' : faultOfName(name, value, tags)
    case 'objectType':
    case 'from':
    case 'to':
      return /^[\d*]+(-[\d*]+)?$/.test(value)
        ? undefined
        : `${name} must be an objectTypeId like 0-1 or a pattern like 2-*, not a name`
    case 'rule':
      return undefined
  }
}

function faultOfName(name: MatcherName, value: string, known: readonly string[]): string | undefined {
  if (known.some((one) => fits(value, one))) return undefined
  return `no ${name} is "${shown(value)}"${hint(value, known)}`
}

function hint(given: string, known: readonly string[]): string {
  const near = suggest(given, known)
  return near === undefined ? `; there are ${known.join(', ')}` : `, did you mean ${near}?`
}

function shown(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 59)}…`
}

function fault(why: string): { ok: false; fault: string } {
  return { ok: false, fault: why }
}
