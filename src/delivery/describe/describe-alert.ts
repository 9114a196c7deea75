import type { Alert } from '../../alerts/alert.ts'
import { alertTitle } from '../../alerts/alert-title.ts'
import { becauseText } from '../../alerts/evaluation/because.ts'
import { countsRecords, limitText, seriesName, wayOutOf } from '../../alerts/series-name.ts'
import { cleanText } from '../../text/clean-text.ts'
import {
  countOf,
  daysLeftText,
  formatCount,
  formatDaysLeft,
  formatPercent,
  formatSpan,
} from '../../text/format-number.ts'
import { formatTime, formatTimeAndAge } from '../../text/format-time.ts'
import { type DescribedRecords, describeRecords } from './describe-records.ts'
import { type Action, actionsOf, type MailLinks, safeUrl, wantsReconnect } from './mail-links.ts'

export type Badge = 'CRITICAL' | 'WARNING' | 'RESOLVED' | 'TEST'

/** One alert in words, cleaned of control characters, for any part of the mail. Not escaped. */
export interface DescribedAlert {
  badge: Badge
  /** `acme.example.com (123)`, or what the alert is about where it is no account. */
  subject: string
  /** `Contacts: custom properties, 997 of 1,000`. */
  headline: string
  /** The same for a table that has a column for the fullness: `Contacts: custom properties`. */
  topic: string
  /** The event in one line. */
  happened: string
  /** Share of the limit that is used. */
  percent?: number
  limit?: string
  /** `6.5 days`, `full`. */
  daysLeft?: string
  facts: MailFact[]
  records?: DescribedRecords
  /** The account's page, or that of the status. */
  url?: string
  actions: Action[]
}

export interface MailFact {
  name: string
  value: string
}

export function describeAlert(alert: Alert, now: number, links: MailLinks = {}): DescribedAlert {
  const { kind, status, reason, limit, daysLeft } = alert
  const percent = percentOf(alert)
  const records = describeRecords(alert, links.record)
  const url = safeUrl(alert.url)
  const hasColumns = kind === 'limit' && reason !== 'uninstalled' && percent !== undefined
  return {
    badge: badgeOf(alert),
    subject: accountName(alert) ?? (kind === 'delivery' ? 'Delivery of alerts' : 'All accounts'),
    headline: headlineOf(alert),
    topic: hasColumns ? alertTitle(alert) : headlineOf(alert),
    happened: whatHappened(alert),
    ...(percent !== undefined && { percent }),
    ...(limit !== undefined && { limit: formatCount(limit) }),
    ...(status === 'firing' && daysLeft !== undefined && { daysLeft: formatDaysLeft(daysLeft) }),
    facts: factsOf(alert, now, links),
    ...(records !== undefined && { records }),
    ...(url !== undefined && { url }),
    actions: actionsOf(alert, links),
  }
}

export function badgeOf({ kind, status, level }: Alert): Badge {
  if (kind === 'test') return 'TEST'
  if (status === 'resolved') return 'RESOLVED'
  return level === 'critical' ? 'CRITICAL' : 'WARNING'
}

export function accountName({ account }: Alert): string | undefined {
  if (account === undefined) return undefined
  const domain = cleanText(account.hubDomain, 80)
  return domain === '' ? `account ${account.hubId}` : `${domain} (${account.hubId})`
}

/** The effect in a few words, without the account: `custom properties, 997 of 1,000`, `customer must reconnect`. */
export function headlineOf(alert: Alert): string {
  const { kind, status, series, reason } = alert
  if (reason === 'uninstalled') return 'app uninstalled, alert closed'
  // The end of a poll alert does not mean that all is read: only its message says so.
  const hasTitle = kind === 'token' || (kind === 'poll' && status === 'firing')
  if (series === undefined) return hasTitle ? alertTitle(alert) : firstSentence(alert)
  if (kind === 'limit-changed') return limitChanged(alert)
  const forecast = forecastThatCounts(alert)
  return forecast === undefined ? limitText(series, alert) : `${seriesName(series)}, ${forecast}`
}

/** First sentence of a message about an alert without a number. */
function firstSentence(alert: Alert): string {
  const [first = ''] = cleanText(alert.message ?? '', 600).split(/(?<=[.!?])\s/, 1)
  return first.replace(/\.$/, '') || alertTitle(alert)
}

function limitChanged(alert: Alert): string {
  const percent = percentOf(alert)
  const used = percent === undefined ? '' : `, ${formatPercent(percent)} used`
  return `${alertTitle(alert)}, limit now ${formatCount(alert.limit ?? 0)}${used}`
}

/** Share of the limit that is used; undefined where it is not known. */
export function percentOf({ percent, usage, limit }: Pick<Alert, 'percent' | 'usage' | 'limit'>): number | undefined {
  if (percent !== undefined) return percent
  return usage === undefined || limit === undefined || limit <= 0 ? undefined : (usage / limit) * 100
}

/** Only where the days left, and not the usage, made the alert. */
export function forecastThatCounts({ status, daysLeft, threshold, percent }: Alert): string | undefined {
  if (status !== 'firing' || daysLeft === undefined || daysLeft <= 0) return undefined
  if (threshold?.daysLeft === undefined || daysLeft > threshold.daysLeft) return undefined
  const usageWouldDo = threshold.percent !== undefined && percent !== undefined && percent >= threshold.percent
  const used = percent === undefined ? '' : `, ${formatPercent(percent)} used`
  return usageWouldDo ? undefined : `full in ${formatDaysLeft(daysLeft)}${used}`
}

/** How long a resolved alert was open: `3 h`. */
export function lastedFor({ status, since, measuredAt }: Alert): string | undefined {
  const ms = Date.parse(measuredAt) - Date.parse(since)
  return status === 'resolved' && ms >= 0 ? formatSpan(ms) : undefined
}

function whatHappened(alert: Alert): string {
  const message = alert.kind === 'limit' ? '' : cleanText(alert.message ?? '', 600)
  const { reason, supersedes = [] } = alert
  const closed = reason === 'uninstalled' ? 'The app was uninstalled from this account. The alert is closed.' : ''
  const change = `${changeOf(alert)}: ${headlineOf(alert)}${movedLimit(alert)}.`
  // Only the newest transition of an alert is sent; the others are counted.
  const often =
    supersedes.length === 0 ? '' : ` It changed ${countOf(supersedes.length + 1, 'time')} since the last message.`
  return (message || closed || change) + often
}

/** A level may be entered, or left, though usage did not change. */
function movedLimit({ limit, previous }: Alert): string {
  if (previous?.limit === undefined || limit === undefined || previous.limit === limit) return ''
  return ` (the limit was ${formatCount(previous.limit)})`
}

function changeOf(alert: Alert): string {
  const { reason, level, previous, kind } = alert
  const from = previous === undefined ? '' : `from ${previous.level} `
  switch (reason) {
    case 'entered':
      return kind === 'limit-changed' ? 'Changed' : `Now ${level}`
    case 'escalated':
      return `Got worse, ${from}to ${level}`
    case 'worse':
      return `Got worse, still ${level}`
    case 'eased':
      return `Got better, ${from}to ${level}`
    case 'recovered':
      return recovery(alert)
    case 'repeat':
      return `Still ${level}`
    case 'uninstalled':
      return 'Closed'
    case 'test':
      return 'Test'
  }
}

/** The end of an alert without anything that got better: its series is no longer watched, or no longer reported. */
export function endWithoutRecovery({ status, because }: Pick<Alert, 'status' | 'because'>): string | undefined {
  if (status !== 'resolved') return undefined
  if (because?.is === 'off' || because?.is === 'no-rule') return 'no longer watched'
  return because?.is === 'gone' ? 'no longer reported' : undefined
}

function recovery(alert: Alert): string {
  const end = endWithoutRecovery(alert)
  if (end !== undefined) return `${end.charAt(0).toUpperCase()}${end.slice(1)}`
  const lasted = lastedFor(alert)
  return lasted === undefined ? 'Back to normal' : `Back to normal after ${lasted}`
}

/** Below the bar: since when, how bad, why, what to do. */
function factsOf(alert: Alert, now: number, links: MailLinks): MailFact[] {
  const { kind, series, since, measuredAt, status } = alert
  if (kind === 'test') return []
  const lasted = lastedFor(alert)
  const facts: [string, string | undefined][] = [
    lasted === undefined
      ? ['Since', formatTimeAndAge(since, now)]
      : ['Lasted', `${lasted}, from ${formatTime(since)} to ${formatTime(measuredAt)}`],
    [series !== undefined && countsRecords(series) ? 'Records' : 'Usage', usageOf(alert)],
    ['Change', changedSince(alert)],
    ['Forecast', status === 'firing' ? forecastOf(alert) : undefined],
    ['Measured', series === undefined ? undefined : formatTimeAndAge(measuredAt, now)],
    ['Why now', whyNow(alert, links.rule)],
    ['To do', status === 'firing' ? toDo(alert, links) : undefined],
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

function usageOf(alert: Alert): string | undefined {
  const { usage, limit, remaining } = alert
  if (usage === undefined) return undefined
  if (limit === undefined) return formatCount(usage)
  const left = remaining ?? limit - usage
  const percent = percentOf(alert)
  const share = percent === undefined ? '' : ` (${formatPercent(percent)})`
  const rest = left < 0 ? `${formatCount(-left)} over the limit` : `${formatCount(left)} left`
  return `${formatCount(usage)} of ${formatCount(limit)}${share}, ${rest}`
}

/** `up 73 since 2026-11-21 16:05 CET (924 → 997 of 1,000)`. */
function changedSince({ previous, usage, limit }: Alert): string | undefined {
  if (previous === undefined) return undefined
  const since = `since ${formatTime(previous.measuredAt)}`
  if (previous.usage === undefined || usage === undefined) return `${previous.level} ${since}`
  const moved = usage - previous.usage
  const of = (number: number | undefined) => (number === undefined ? '' : ` of ${formatCount(number)}`)
  const before = previous.limit === undefined || previous.limit === limit ? '' : of(previous.limit)
  const numbers = `${formatCount(previous.usage)}${before} → ${formatCount(usage)}${of(limit)}`
  return `${moved === 0 ? 'unchanged' : `${moved > 0 ? 'up' : 'down'} ${formatCount(Math.abs(moved))}`} ${since} (${numbers})`
}

function forecastOf({ daysLeft, daysLeftRange }: Alert): string | undefined {
  if (daysLeft === undefined) return undefined
  return daysLeft <= 0 ? 'full' : `${daysLeftText(daysLeft, daysLeftRange)} at this pace`
}

/** The condition that decided, and its rule; nothing for kinds that no rule decides about. */
function whyNow({ kind, rule, reason, because }: Alert, placeOf: MailLinks['rule']): string | undefined {
  if (kind === 'limit-changed') return 'the provider moved the limit'
  if (kind !== 'limit' || reason === 'uninstalled') return undefined
  const place = placeOf?.(rule)
  // A customer is not shown our rules.
  if (rule === '') return undefined
  const name = `rule ${cleanText(rule, 80)}${place === undefined ? '' : ` (${place})`}`
  return because === undefined ? name : `${becauseText(because)}; ${name}`
}

/** Other kinds have it in their message. */
function toDo(alert: Alert, { isForCustomer }: MailLinks): string | undefined {
  const { kind, series } = alert
  if (wantsReconnect(alert) && isForCustomer) return 'Open the link as an administrator of the account.'
  if (wantsReconnect(alert)) return 'Send the reconnect link to an administrator of the account.'
  if (series === undefined) return undefined
  if (kind === 'limit-changed') return 'Check that the account has enough room left.'
  const what = wayOutOf(series)
  const wayOut = `${what === undefined ? 'Make room' : what}, or have the limit raised.`
  return isForCustomer ? wayOut : `${wayOut} Once acknowledged, it is sent again only when it gets worse.`
}

/** The one to name of an account's: a critical one first, else by the order of the message. */
export function worstDescribed(described: readonly DescribedAlert[]): DescribedAlert | undefined {
  return described.find(({ badge }) => badge === 'CRITICAL') ?? described[0]
}
