import { type Alert, isClosed } from '../../alerts/alert.ts'
import { adviceIn, alertTitle, linkCommand } from '../../alerts/alert-title.ts'
import { becauseText } from '../../alerts/evaluation/because.ts'
import { countsRecords, limitText, seriesName, usedText, wayOutOf } from '../../alerts/series-name.ts'
import { cleanText } from '../../text/clean-text.ts'
import {
  capitalized,
  countOf,
  daysLeftText,
  formatCount,
  formatDaysLeft,
  formatPercent,
  formatSpan,
} from '../../text/format-number.ts'
import { formatTime, formatTimeAndAge } from '../../text/format-time.ts'
import { type DescribedRecords, describeRecords } from './describe-records.ts'
import { type Action, actionsOf, type MailLinks, RECONNECT, safeUrl, wantsReconnect } from './mail-links.ts'

export type Badge = 'CRITICAL' | 'WARNING' | 'RESOLVED' | 'TEST'

/** One alert in words, cleaned of control characters, for any part of the mail. Not escaped. */
export interface DescribedAlert {
  badge: Badge
  /** `acme.example.com (123)`, or what the alert is about where it is no account. */
  subject: string
  /** `Contacts: custom properties, 997 of 1,000`. */
  headline: string
  /** The same beside its numbers: `Contacts: custom properties`. */
  topic: string
  /** `997 of 1,000, 3 days left`; since when, where it has no numbers. */
  numbers: string
  /** The rest: how it changed, why, what to do. */
  details: string
  /** Headline and details. */
  happened: string
  /** Share of the limit that is used. */
  percent?: number
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
  const { kind, since } = alert
  const percent = percentOf(alert)
  const records = describeRecords(alert, links.record)
  const url = safeUrl(alert.url)
  const actions = actionsOf(alert, links)
  const headline = headlineOf(alert)
  const details = detailsOf(alert, actions)
  const hasNumbers = kind === 'limit' && !isClosed(alert) && percent !== undefined
  return {
    badge: badgeOf(alert),
    subject: accountName(alert) ?? (kind === 'delivery' ? 'Delivery of alerts' : 'All accounts'),
    headline,
    topic: hasNumbers ? alertTitle(alert) : headline,
    numbers: hasNumbers ? numbersOf(alert) : `since ${formatTime(since)}`,
    details,
    happened: `${headline}. ${details}`.trim(),
    ...(percent !== undefined && { percent }),
    facts: factsOf(alert, now, links),
    ...(records !== undefined && { records }),
    ...(url !== undefined && { url }),
    actions,
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

/** The effect in a few words, without the account: `Custom properties, 997 of 1,000`, `Customer must reconnect`. */
export function headlineOf(alert: Alert): string {
  const { kind, status, series, reason, cause } = alert
  if (reason === 'uninstalled') return 'App uninstalled, alert closed'
  if (reason === 'lost') return 'Alert closed: its state was lost'
  // Only the message of a poll alert names the limits that are read, and those that are not.
  const hasTitle = kind === 'token' || (kind === 'poll' && status === 'firing' && cause !== 'failing')
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

/** A message without its headline, or the change of a number. */
function detailsOf(alert: Alert, actions: readonly Action[]): string {
  const { kind, account, supersedes = [] } = alert
  const isLinked = account !== undefined && actions.some(({ name }) => name === RECONNECT)
  const given = kind === 'limit' ? '' : cleanText(alert.message ?? '', 600).replace(` ${toDo(alert)}`, '')
  const message = isLinked ? given.replace(` ${linkCommand(account)}`, '') : given
  const headline = `${headlineOf(alert)}.`
  const told = message.startsWith(headline) ? message.slice(headline.length).trimStart() : message
  const change = message !== '' || isClosed(alert) ? told : `${changeOf(alert)}${movedLimit(alert)}.`
  // Only the newest transition of an alert is sent; the others are counted.
  const often =
    supersedes.length === 0 ? '' : `It changed ${countOf(supersedes.length + 1, 'time')} since the last message.`
  return `${change} ${often}`.trim()
}

/** A level may be entered, or left, though usage did not change. */
function movedLimit({ limit, previous }: Alert): string {
  if (previous?.limit === undefined || limit === undefined || previous.limit === limit) return ''
  return ` (the limit was ${formatCount(previous.limit)})`
}

function changeOf(alert: Alert): string {
  const { reason, level, previous, kind } = alert
  const moved = previous === undefined ? level : `${previous.level} → ${level}`
  const words: Record<Alert['reason'], string> = {
    entered: kind === 'limit-changed' ? 'Limit changed' : `New: ${level}`,
    escalated: `Worse: ${moved}`,
    worse: `Still ${level}, usage rose`,
    eased: `Better: ${moved}`,
    recovered: capitalized(endWithoutRecovery(alert) ?? 'back to normal'),
    repeat: `Still ${level}`,
    uninstalled: 'Closed',
    lost: 'Closed',
    test: 'Test',
  }
  return words[reason]
}

/** The end of an alert without anything that got better: its series is no longer watched, or no longer reported. */
export function endWithoutRecovery({ status, because }: Pick<Alert, 'status' | 'because'>): string | undefined {
  if (status !== 'resolved') return undefined
  if (because?.is === 'off' || because?.is === 'no-rule') return 'no longer watched'
  return because?.is === 'gone' ? 'no longer reported' : undefined
}

function numbersOf({ usage = 0, limit, status, daysLeft = 0 }: Alert): string {
  const days = status === 'firing' && daysLeft > 0 ? `, ${daysLeftText(daysLeft)}` : ''
  return `${usedText(usage, limit)}${days}`
}

/** Below the bar: what to do, since when, how bad, why. */
function factsOf(alert: Alert, now: number, links: MailLinks): MailFact[] {
  const { kind, series, since, measuredAt, status } = alert
  if (kind === 'test') return []
  const lasted = lastedFor(alert)
  const isFiring = status === 'firing'
  const facts: [string, string | undefined][] = [
    ['To do', isFiring ? toDo(alert) : undefined],
    lasted === undefined
      ? ['Since', formatTimeAndAge(since, now)]
      : ['Lasted', `${lasted}, from ${formatTime(since)} to ${formatTime(measuredAt)}`],
    ['Usage', series !== undefined && countsRecords(series) ? undefined : usageOf(alert)],
    ['Change', changedSince(alert)],
    ['Forecast', isFiring ? forecastOf(alert) : undefined],
    ['Measured', series === undefined ? undefined : formatTimeAndAge(measuredAt, now)],
    ['Reason', isFiring ? reasonText(alert) : undefined],
    ['Rule', isFiring ? ruleText(alert, links.rule) : undefined],
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
  return daysLeft === undefined || daysLeft <= 0 ? undefined : `${daysLeftText(daysLeft, daysLeftRange)} at this pace`
}

/** The condition that decided. */
function reasonText({ kind, because }: Alert): string | undefined {
  if (kind === 'limit-changed') return 'HubSpot changed the limit'
  return because === undefined ? undefined : becauseText(because)
}

function ruleText({ kind, rule, reason }: Alert, placeOf: MailLinks['rule']): string | undefined {
  if (kind !== 'limit' || isClosed({ reason })) return undefined
  const place = placeOf?.(rule)
  return `${cleanText(rule, 80)}${place === undefined ? '' : ` (${place})`}`
}

function toDo(alert: Alert): string | undefined {
  const { kind, series, message } = alert
  if (wantsReconnect(alert)) return 'Send the reconnect link to an administrator of the account.'
  if (series === undefined) return adviceIn(message)
  if (kind === 'limit-changed') return 'Check that the account has enough room left.'
  return `${wayOutOf(series) ?? 'Make room'}, or have the limit raised.`
}
