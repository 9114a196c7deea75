import type { Account } from '../accounts/account.ts'
import type { AccountName } from '../accounts/match-account.ts'
import type { AlertLevel } from '../alerts/alert.ts'
import { judgeReading } from '../alerts/evaluation/evaluate.ts'
import { type Level, levelOf, type Rule, ruleFor } from '../alerts/evaluation/rules.ts'
import { type Silence, silenceOf } from '../alerts/silence.ts'
import { isOfOnePair, keyOf } from '../limits/readings.ts'
import type { Report, SeriesName } from '../limits/reports/report.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import type { CurrentSeries } from './account-view.ts'
import { watchText } from './poll-texts.ts'

export type CheckLevel = 'ok' | 'warning' | 'critical' | 'unknown'

export interface JudgeSettings {
  rules: readonly Rule[]
  /** Age from which a reading of an account is stale, ms; of a pair's: of one of so many that may take turns. */
  staleAfter: (account: AccountName, pairs: number) => number
  /** Reports of an account's polls, and pairs where they are known. */
  askedOf: (account: AccountName) => { reports: readonly Report[]; pairs: readonly { from: string; to: string }[] }
  /** In force. */
  silences: readonly Silence[]
}

/** The fields of an account that judge it. */
export type JudgedSubject = Pick<
  Account,
  'hubId' | 'hubDomain' | 'state' | 'polledAt' | 'pollFailure' | 'pollBlocked' | 'refreshFailure'
>

/** A series as it was last read, with the level of the alert that is open about it, and whether an operator knows of that. */
export interface CheckedSeries extends CurrentSeries {
  open?: AlertLevel | undefined
  isAcknowledged?: boolean
}

/** A series as it was last read, with its level. */
export interface JudgedSeries extends CurrentSeries {
  /**
   * Level of its reading or of its open alert, whichever is worse. `unknown`: its limit is, or its reading is too old.
   */
  level: CheckLevel
  /** Name of the rule that decided. */
  rule: string
  /** The conditions of its level; null where no level holds. */
  threshold: Level | null
  /** An operator has acknowledged its alert at that level, or silenced it: it makes nothing worse. */
  handled: boolean
}

export interface JudgedAccount {
  hubId: number
  hubDomain: string
  /** Null for an unknown account. */
  state: Account['state'] | null
  /** The worst there is: critical, warning, unknown, ok. A series without a known limit does not make it unknown. */
  level: CheckLevel
  /** Without its series: critical where it must reconnect and no operator has handled that, unknown where not all is known. */
  ofAccount: CheckLevel
  /** Why not all is known of it: a reading is too old, or missing. Null = all is known. May hold text from outside. */
  reason: string | null
  /** Moment of its last reading, ms. */
  readAt: number | null
  /** Series that a rule watches. */
  series: JudgedSeries[]
}

/** Level of an account by its last readings, without `for`, and by its open alerts, whatever holds one open or back. */
export function judgeAccount(
  { trouble, isKnown = false, ...settings }: JudgeSettings & { trouble?: string | undefined; isKnown?: boolean },
  account: JudgedSubject,
  current: readonly CheckedSeries[],
  now: number,
): JudgedAccount {
  const isStale = staleness(settings, account, current, now)
  const series = current.flatMap((one) => judgeSeries(settings, account, one, { isStale, now }))
  const readAt = current.reduce<number | null>((newest, { measuredAt }) => later(newest, measuredAt), null)
  const reason = trouble ?? whyUnknown(settings, account, { current, series, readAt }, isStale)
  const { hubId, hubDomain, state } = account
  const breaches = series.filter((one) => isBreach(one.level) && !one.handled)
  const ofAccount = account.state === 'reauthorize' && !isKnown ? 'critical' : reason === null ? 'ok' : 'unknown'
  const level = worstOf([...breaches.map((one) => one.level), ofAccount])
  return { hubId, hubDomain, state, level, ofAccount, reason, readAt, series }
}

/** An account that was asked for and is unknown, or no longer known. */
export function judgeAbsent(hubId: number, account: JudgedSubject | undefined): JudgedAccount {
  const { hubDomain = '', state = null } = account ?? {}
  const reason = state === null ? 'there is no such account' : `it is ${state}`
  return { hubId, hubDomain, state, level: 'unknown', ofAccount: 'unknown', reason, readAt: null, series: [] }
}

const RANK: Readonly<Record<CheckLevel, number>> = { critical: 3, warning: 2, unknown: 1, ok: 0 }

export function worstOf(levels: readonly CheckLevel[]): CheckLevel {
  return levels.reduce((worst, level) => (RANK[level] > RANK[worst] ? level : worst), 'ok')
}

/** Worst first, by the level alone. */
export function byLevel(a: CheckLevel, b: CheckLevel): number {
  return RANK[b] - RANK[a]
}

function isBreach(level: CheckLevel): level is AlertLevel {
  return level === 'critical' || level === 'warning'
}

function judgeSeries(
  settings: JudgeSettings,
  account: JudgedSubject,
  { open, isAcknowledged = false, ...series }: CheckedSeries,
  { isStale, now }: { isStale: IsStale; now: number },
): JudgedSeries[] {
  const rule = ruleFor(settings.rules, account, series)
  const judged = judgeReading(rule, series)
  if (rule === undefined || judged === 'off') return []
  const level = isStale(series.measuredAt, series) ? 'unknown' : worstOf([judged, open ?? 'ok'])
  if (!isBreach(level)) return [{ ...series, level, rule: rule.name, threshold: null, handled: false }]
  const alert = { kind: 'limit' as const, level, rule: rule.name, account, series }
  const handled = (isAcknowledged && open === level) || silenceOf(settings.silences, alert, now) !== undefined
  return [{ ...series, level, rule: rule.name, threshold: levelOf(rule, level, series) ?? null, handled }]
}

function whyUnknown(
  settings: JudgeSettings,
  account: JudgedSubject,
  {
    current,
    series,
    readAt,
  }: { current: readonly CurrentSeries[]; series: readonly JudgedSeries[]; readAt: number | null },
  isStale: IsStale,
): string | null {
  const because = account.pollFailure === null ? '' : `: ${account.pollFailure.reason}`
  if (account.state === 'reauthorize') {
    return `it must reconnect: ${account.refreshFailure?.reason ?? 'its refresh token is refused'}`
  }
  if (account.pollBlocked !== null) return watchText(account) ?? null
  if (readAt === null) return `never read${because}`
  if (isStale(readAt)) return `${notSince(readAt)}${because}`
  const stale = series.filter((one) => isStale(one.measuredAt, one))
  const [oldest] = stale.map(({ measuredAt }) => measuredAt ?? 0).sort((a, b) => a - b)
  if (oldest !== undefined) return `${countOf(stale.length, 'series', 'series')} ${notSince(oldest)}${because}`
  return account.pollFailure !== null && lacksReport(settings, account, current) ? `not all was read${because}` : null
}

/** True where a report that a rule is about was never read. */
function lacksReport({ rules, askedOf }: JudgeSettings, account: JudgedSubject, current: readonly CurrentSeries[]) {
  const { reports, pairs } = askedOf(account)
  // One that the account's plan may lack is none that is missing.
  const wanted = reports.flatMap(({ metrics, perPair, mayLack }): SeriesName[] =>
    Object.entries(metrics).flatMap(([metric, { about }]) => {
      if (perPair !== undefined) return pairs.map((pair) => ({ metric, ...pair }))
      return about === 'account' && !mayLack ? [{ metric }] : []
    }),
  )
  return wanted.some((name) => {
    const rule = ruleFor(rules, account, name)
    return rule !== undefined && rule.off !== true && !current.some((series) => isSame(series, name))
  })
}

function isSame(a: SeriesName, b: SeriesName): boolean {
  return a.metric === b.metric && a.from === b.from && a.to === b.to
}

/** True where a reading is too old to count: of a series, or without one of the account as a whole. */
type IsStale = (at: number | null, series?: CurrentSeries) => boolean

function staleness(
  { staleAfter }: JudgeSettings,
  account: AccountName,
  current: readonly CurrentSeries[],
  now: number,
): IsStale {
  const pairs = new Set(current.filter(isOfOnePair).map(keyOf)).size
  const [oldest, oldestOfPair] = [staleAfter(account, 0), staleAfter(account, pairs)]
  return (at, series) => at === null || now - at > (series !== undefined && isOfOnePair(series) ? oldestOfPair : oldest)
}

function notSince(at: number): string {
  return `not read since ${formatMoment(at)}`
}

function later(one: number | null, other: number | null): number | null {
  return one === null || (other !== null && other > one) ? other : one
}

const CONDITIONS: Readonly<Record<string, (bound: number) => string>> = {
  percent: (bound) => `from ${bound} %`,
  count: (bound) => `from ${bound}`,
  remaining: (bound) => `${bound} left`,
  daysLeft: (bound) => `${bound} ${bound === 1 ? 'day' : 'days'} left`,
}

/** The conditions of a level, in a few words; nothing where no level holds. */
export function thresholdText(threshold: Level | null): string {
  return Object.entries(threshold ?? {})
    .flatMap(([condition, bound]) =>
      bound === undefined ? [] : [CONDITIONS[condition]?.(Number(bound)) ?? `${condition} ${bound}`],
    )
    .join(' or ')
}
