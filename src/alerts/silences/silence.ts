import { isAccount } from '../../accounts/match-account.ts'
import { fits } from '../../text/pattern.ts'
import type { Alert } from '../alert.ts'

export type SilenceMatcherName = 'account' | 'level' | 'kind' | 'rule' | 'tag' | 'series' | 'objectType' | 'from' | 'to'

/** What is not to be told for a while. */
export interface Silence {
  id: string
  /** Several values of one name: any of them; different names: all. */
  matchers: readonly { name: SilenceMatcherName; value: string }[]
  author: string
  comment: string
  /** ms */
  createdAt: number
  /** ms */
  endsAt: number
}

/** The silence that an alert falls under; of several the one that ends last. */
export function silenceOf(silences: readonly Silence[], alert: Alert, now: number): Silence | undefined {
  return silences
    .filter(({ createdAt, endsAt, matchers }) => createdAt <= now && now < endsAt && covers(matchers, alert))
    .toSorted((a, b) => b.endsAt - a.endsAt)[0]
}

function covers(matchers: Silence['matchers'], alert: Alert): boolean {
  const byName = Map.groupBy(matchers, ({ name }) => name)
  return [...byName].every(([name, some]) => some.some(({ value }) => isMatch(name, value, alert)))
}

function isMatch(name: SilenceMatcherName, value: string, alert: Alert): boolean {
  if (name === 'account') return alert.account !== undefined && isAccount(value, alert.account)
  if (name === 'tag') return false
  const { level, kind, rule, series } = alert
  const found = {
    ...{ level, kind, rule, series: series?.metric, objectType: series?.objectTypeId, from: series?.from },
    to: series?.to,
  }[name]
  return found !== undefined && fits(value, found)
}
