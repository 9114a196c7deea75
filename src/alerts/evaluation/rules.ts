import { type AccountMatch, type AccountName, matchesAccount } from '../../accounts/match-account.ts'
import { metricKind, REPORTS } from '../../limits/reports/all-reports.ts'
import type { SeriesName } from '../../limits/reports/report.ts'
import { cleanText } from '../../text/clean-text.ts'
import { fits } from '../../text/pattern.ts'
import type { AlertLevel, Quantity } from '../alert.ts'
import { metricNoun } from '../series-name.ts'

/** The conditions of a level; any of them is enough. */
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
  /** Line in the config file, where the rule was read from one. */
  line?: number | undefined
  /** A metric, or a pattern of metrics: a report and `.*`; or `limit-changed`, which can be off only. */
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
  return rules.find(
    (rule) => isAbout(rule, series.metric) && suits(rule, series) && matches(rule.match, account, series),
  )
}

/** True where a rule is about a metric. A sample is watched by its own name alone, and turned off by `*`, too. */
export function isAbout({ on, off }: Pick<Rule, 'on' | 'off'>, metric: string): boolean {
  return fits(on, metric) && (on === metric || off === true || metricKind(metric)?.isSample !== true)
}

/** The conditions of a level that can be asked of a series. */
export function levelOf(rule: Rule | undefined, name: AlertLevel, { metric }: Pick<SeriesName, 'metric'>) {
  const level = rule?.[name]
  if (rule === undefined || level?.count === undefined || measures(rule.on, metric, 'count')) return level
  const { count: _, ...others } = level
  return others
}

/** A rule that asks only for `count` skips series whose usage is no count. */
function suits({ on, off, warning, critical }: Rule, { metric }: SeriesName): boolean {
  if (off === true || measures(on, metric, 'count')) return true
  return [warning, critical].every((level) => level === undefined) || [warning, critical].some(asksOtherThanCount)
}

function asksOtherThanCount(level: Level | undefined): boolean {
  return level?.percent !== undefined || level?.remaining !== undefined || level?.daysLeft !== undefined
}

/** True where a moved limit of a series sends no alert: a rule turns that off, or the whole series. */
export function isLimitChangeOff(rules: readonly Rule[], account: RuleSubject, series: SeriesName): boolean {
  return (
    rules.some(({ on, match }) => on === 'limit-changed' && matches(match, account, series)) ||
    ruleFor(rules, account, series)?.off === true
  )
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

/**
 * True where a condition fits a series that the rule's `on` names. In a rule for several series `count` is a number of
 * records: the usage of one record, which a fullest record has, is only meant by a rule for that alone.
 */
export function measures(on: string, metric: string, asks: Quantity): boolean {
  const kind = metricKind(metric)
  if (kind?.counts !== undefined) return asks === 'count'
  return asks !== 'count' || kind?.isOne !== true || on === metric
}

const GROUPS: Readonly<Record<string, string>> = {
  '*': 'all limits',
  ...Object.fromEntries(REPORTS.map(({ name, words }) => [`${name}.*`, words])),
  'limit-changed': 'limits that moved',
}

/** A rule for people: its name, or what it watches where it was given none: `custom properties, object types 2-*`. */
export function ruleName({ name, on, match }: Pick<Rule, 'name' | 'on' | 'match'>): string {
  if (name !== on) return cleanText(name, 80)
  const given: [string, readonly string[] | undefined][] = [
    ['object types', match?.objectType ?? (metricKind(on)?.about === 'objectType' ? ['*'] : undefined)],
    ['from', match?.from],
    ['to', match?.to],
    ['accounts', match?.account],
    ['tags', match?.tag?.map((tag) => tag.name)],
  ]
  const which = given.flatMap(([what, values]) => (values === undefined ? [] : [`${what} ${values.join(' or ')}`]))
  return cleanText([GROUPS[on] ?? metricNoun(on), ...which].join(', '), 120)
}
