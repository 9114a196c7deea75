import { isAccount } from '../../accounts/match-account.ts'
import { fits } from '../../text/pattern.ts'
import type { Alert } from '../alert.ts'

export const MATCHER_NAMES = ['account', 'level', 'kind', 'rule', 'tag', 'series', 'objectType', 'from', 'to'] as const
export type MatcherName = (typeof MATCHER_NAMES)[number]

export interface Matcher {
  name: MatcherName
  /** `*` matches any characters. Of `account`: a hubId or a domain. */
  value: string
  /** Of `tag`: hubIds and patterns of domains that carry it, by the caller's config. */
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
  /** ms; earlier than planned where it was ended. */
  endsAt: number
}

/** What a silence asks of an alert. */
export type Silenceable = Pick<Alert, 'kind' | 'level' | 'rule' | 'account' | 'series'>

/** The silence that an alert is under; of several the one that lasts longest. */
export function silenceOf(silences: readonly Silence[], alert: Silenceable, now: number): Silence | undefined {
  return silences
    .filter((silence) => isInForce(silence, now) && covers(silence, alert))
    .reduce<Silence | undefined>((longest, one) => ((longest?.endsAt ?? 0) >= one.endsAt ? longest : one), undefined)
}

/** From when it was made on. That moment is not compared: the clock of the machine that made it may be ahead. */
export function isInForce({ endsAt }: Silence, now: number): boolean {
  return now < endsAt
}

/** Whether the alert is one that the silence means, whenever that is in force. */
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

/** As it is written on the command line. */
export function matcherText({ name, value }: Matcher): string {
  return `${name}=${value}`
}
