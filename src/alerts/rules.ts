import type { Metric, SeriesName } from '../limits/series.ts'

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

export interface RuleMatch {
  /** hubIds, or patterns of domains such as `*.example.com`. */
  account?: readonly string[] | undefined
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

export interface RuleSubject {
  hubId: number
  hubDomain: string
}

/** The first rule that matches a series decides about it, alone. */
export function ruleFor(rules: readonly Rule[], account: RuleSubject, series: SeriesName): Rule | undefined {
  return rules.find((rule) => fits(rule.on, series.metric) && matches(rule.match, account, series))
}

function matches(match: RuleMatch | undefined, account: RuleSubject, series: SeriesName): boolean {
  if (match === undefined) return true
  return (
    isAmong(match.account, (wanted) => isAccount(wanted, account)) &&
    isAmong(match.objectType, (wanted) => series.objectTypeId !== undefined && fits(wanted, series.objectTypeId)) &&
    isAmong(match.from, (wanted) => series.from !== undefined && fits(wanted, series.from)) &&
    isAmong(match.to, (wanted) => series.to !== undefined && fits(wanted, series.to))
  )
}

/** Whether a hubId or a pattern of domains, as the config writes them, means this account. */
export function isAccount(wanted: string, { hubId, hubDomain }: RuleSubject): boolean {
  return wanted === String(hubId) || fits(wanted.toLowerCase(), hubDomain.toLowerCase())
}

function isAmong(wanted: readonly string[] | undefined, fitsOne: (wanted: string) => boolean): boolean {
  return wanted === undefined || wanted.some(fitsOne)
}

/** `*` stands for any characters, also none. */
export function fits(pattern: string, text: string | Metric): boolean {
  if (!pattern.includes('*')) return pattern === text
  const [head = '', ...rest] = pattern.split('*')
  const tail = rest.pop() ?? ''
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false
  let at = head.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found === -1 || found + part.length > text.length - tail.length) return false
    at = found + part.length
  }
  return true
}
