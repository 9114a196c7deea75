import type { Alert, Message } from '../../alerts/alert.ts'
import { byConsequence } from '../../alerts/rank.ts'
import { metricName } from '../../alerts/series-name.ts'
import { cleanText, shorten } from '../../text/clean-text.ts'
import { countOf, formatCount } from '../../text/format-number.ts'
import { countAccounts } from './count-accounts.ts'
import { accountName, badgeOf, headlineOf, standingOf, topicOf } from './describe-alert.ts'
import { periodicSubject } from './periodic-digest.ts'

const MAX_LENGTH = 180

/** The subject line: how bad, where, what. The end says how much more there is, and is never cut off. */
export function subjectOf(message: Message): string {
  const alerts = message.data.alerts.toSorted(byConsequence)
  const badge = `[${badgeOfMessage(message, alerts[0])}] `
  const { what, end } = subjectParts(message, alerts)
  const room = MAX_LENGTH - badge.length - end.length
  return `${badge}${shorten(withoutEncodedWords(cleanText(what, 2 * MAX_LENGTH)), room)}${end}`
}

export function badgeOfMessage({ type }: Message, worst: Alert | undefined): string {
  if (type === 'alert.digest') return 'DIGEST'
  if (type === 'alert.test') return 'TEST'
  if (type === 'alert.resolved' || worst === undefined) return 'RESOLVED'
  return badgeOf(worst)
}

function subjectParts({ type, data }: Message, alerts: readonly Alert[]): { what: string; end: string } {
  const [first] = alerts
  if (data.period !== undefined) return { what: periodicSubject(data), end: '' }
  if (type === 'alert.digest') return { what: digestSummary(alerts, data.truncated), end: '' }
  if (first === undefined) return { what: 'nothing to report', end: '' }
  const more = alerts.length - 1 + data.truncated
  if (more === 0) return { what: accountAndHeadline(first), end: '' }
  const { accounts } = countAccounts(alerts)
  // What was left out may be about accounts that nothing here names.
  const atLeast = data.truncated > 0 ? '+' : ''
  const end =
    accounts > 1
      ? ` and ${formatCount(more)} more (${formatCount(accounts)}${atLeast} accounts)`
      : ` and ${formatCount(more)} more`
  return { what: accounts > 1 ? groupOfAccounts(first, alerts) : accountAndHeadline(first), end }
}

/** `25 accounts: 3 critical, 10 warning`. */
export function digestSummary(alerts: readonly Alert[], truncated: number): string {
  const { accounts, critical, warning } = countAccounts(alerts)
  const levels = [
    critical > 0 && `${formatCount(critical)} critical`,
    warning > 0 && `${formatCount(warning)} warning`,
    truncated > 0 && `${countOf(truncated, 'more alert')}`,
  ].filter(isText)
  return `${countOf(accounts, 'account')}${levels.length > 0 ? ': ' : ''}${levels.join(', ')}`
}

function accountAndHeadline(first: Alert): string {
  return [accountName(first), headlineOf(first)].filter(isText).join(': ')
}

/** What all have in common stands in front; where they have nothing in common, the worst one speaks for them. */
function groupOfAccounts(first: Alert, alerts: readonly Alert[]): string {
  const common = commonTopic(first, alerts)
  if (common === undefined) return accountAndHeadline(first)
  return `${common}: ${[accountName(first), standingOf(first)].filter(isText).join(' ')}`
}

function commonTopic(first: Alert, alerts: readonly Alert[]): string | undefined {
  const metric = first.series?.metric
  if (
    alerts.some((alert) => alert.kind !== first.kind || alert.cause !== first.cause || alert.series?.metric !== metric)
  )
    return undefined
  if (metric === undefined) return topicOf(first)
  return first.kind === 'limit-changed' ? `limit of ${metricName(metric)} changed` : metricName(metric)
}

/** Mail programs decode `=?utf-8?q?...?=` wherever it stands: a label could so bring back what cleaning took out. */
function withoutEncodedWords(text: string): string {
  return text.replaceAll('=?', '= ?')
}

function isText(text: string | false | undefined): text is string {
  return typeof text === 'string' && text !== ''
}
