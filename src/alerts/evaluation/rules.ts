import { type AccountMatch, type AccountName, matchesAccount } from '../../accounts/match-account.ts'
import type { SeriesName } from '../../limits/series.ts'
import { fits } from '../../text/pattern.ts'

/** What a level asks of a series; several conditions mean any of them. */
export interface Level {
  /** Usage in percent of the limit, at least this. */
  percent?: number | undefined
  /** Usage, at least this. */
  count?: number | undefined
  /** Limit less usage, at most this. */
  remaining?: number | undefined
  /** Days to the limit by the forecast, at most this. */
  daysLeft?: number | undefined
}

export interface RuleMatch extends AccountMatch {
  objectType?: readonly string[] | undefined
  from?: readonly string[] | undefined
  to?: readonly string[] | undefined
}

export interface Rule {
  name: string
  /** A metric, or a pattern of metrics such as `customProperties.*`. */
  on: string
  match?: RuleMatch | undefined
  off?: boolean | undefined
  warning?: Level | undefined
  critical?: Level | undefined
  /** How far inside a level must be left behind before it is left, in the unit of its conditions. */
  recoverBelow?: number | undefined
}

export type RuleSubject = AccountName

/** The first rule that matches a series decides about it, alone. */
export function ruleFor(rules: readonly Rule[], account: RuleSubject, series: SeriesName): Rule | undefined {
  return rules.find((rule) => fits(rule.on, series.metric) && matches(rule.match, account, series))
}

function matches(match: RuleMatch | undefined, account: RuleSubject, series: SeriesName): boolean {
  if (match === undefined) return true
  return (
    matchesAccount(match, account) &&
    isAmong(match.objectType, (wanted) => series.objectTypeId !== undefined && fits(wanted, series.objectTypeId)) &&
    isAmong(match.from, (wanted) => series.from !== undefined && fits(wanted, series.from)) &&
    isAmong(match.to, (wanted) => series.to !== undefined && fits(wanted, series.to))
  )
}

function isAmong(wanted: readonly string[] | undefined, fitsOne: (wanted: string) => boolean): boolean {
  return wanted === undefined || wanted.some(fitsOne)
}
