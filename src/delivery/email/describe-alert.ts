import { type Alert, UNINSTALL_RULE } from '../../alerts/alert.ts'
import { countedRecords, countsRecords, seriesName } from '../../alerts/series-name.ts'
import { cleanText } from '../../text/clean-text.ts'
import { countOf, formatCount, formatDays, formatPercent } from '../../text/format-number.ts'
import { type DescribedRecords, describeRecords } from './describe-records.ts'
import { type Fact, factsOf } from './facts.ts'
import { type MailLinks, NO_LINKS, safeUrl } from './mail-links.ts'
import { percentOf } from './percent-of.ts'
import { silenceCommand } from './silence-command.ts'

export type Badge = 'CRITICAL' | 'WARNING' | 'RESOLVED' | 'TEST'

/** One alert in words, cleaned of what strangers may have put in, for whichever part of the mail shows it. Not escaped. */
export interface DescribedAlert {
  badge: Badge
  /** `acme.example.com (123)`, or what the alert is about where it is no account. */
  subject: string
  /** `custom properties 96 % of 1,000`. */
  headline: string
  /** The same for a table that has a column for the fullness: `custom properties`. */
  topic: string
  /** What happened, in one line. */
  happened: string
  /** Share of the limit that is used. */
  percent?: number
  limit?: string
  /** `6.5 days`, `full`. */
  daysLeft?: string
  facts: Fact[]
  records?: DescribedRecords
  url?: string
  acknowledgeUrl?: string
  /** What to type to hear no more of it. */
  silence?: string
}

export function describeAlert(alert: Alert, now: number, links: MailLinks = NO_LINKS): DescribedAlert {
  const percent = percentOf(alert)
  const daysLeft = alert.status === 'firing' ? daysLeftOf(alert) : undefined
  const records = describeRecords(alert, links.record)
  const url = safeUrl(alert.url)
  const canBeTaken = alert.status === 'firing' && alert.kind !== 'test'
  const acknowledgeUrl = canBeTaken ? safeUrl(links.acknowledge?.(alert)) : undefined
  const silence = canBeTaken ? silenceCommand(alert) : undefined
  return {
    badge: badgeOf(alert),
    subject: accountName(alert) ?? (alert.kind === 'delivery' ? 'Delivery of alerts' : 'All accounts'),
    headline: headlineOf(alert),
    topic:
      alert.kind === 'limit' && alert.reason !== 'uninstalled' && percent !== undefined
        ? topicOf(alert)
        : headlineOf(alert),
    happened: whatHappened(alert) + changedOften(alert),
    ...(percent !== undefined && { percent }),
    ...(alert.limit !== undefined && { limit: formatCount(alert.limit) }),
    ...(daysLeft !== undefined && { daysLeft }),
    facts: factsOf(alert, now, links),
    ...(records !== undefined && { records }),
    ...(url !== undefined && { url }),
    ...(acknowledgeUrl !== undefined && { acknowledgeUrl }),
    ...(silence !== undefined && { silence }),
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

/** The matter in a few words, without the account: `custom properties 96 % of 1,000`, `reauthorisation needed`. */
export function headlineOf(alert: Alert): string {
  if (alert.reason === 'uninstalled') return 'app uninstalled, alert closed'
  if (alert.series !== undefined) return seriesHeadline(alert, alert.series)
  if (alert.kind === 'token' || alert.kind === 'poll') return topicOf(alert)
  return firstSentence(alert.message) ?? topicOf(alert)
}

/** What a headline is about where numbers and accounts are left out. */
export function topicOf({ kind, status, level, rule, series, cause }: Alert): string {
  const resolved = status === 'resolved'
  switch (kind) {
    case 'token':
      if (rule === UNINSTALL_RULE) return resolved ? 'uninstall is over' : 'uninstall cannot be finished'
      if (resolved) return 'token is kept alive again'
      // Refreshing that merely fails for long is a warning; a token that can't be saved any more is critical.
      return level === 'critical' ? 'reauthorisation needed' : 'token refresh keeps failing'
    case 'poll':
      if (cause === 'scopes')
        return resolved ? 'limits can be watched again' : 'limits cannot be watched: scope missing'
      return resolved ? 'readings are fresh again' : 'no fresh reading'
    case 'fleet':
      return resolved ? 'accounts work again' : 'many accounts fail the same way'
    case 'delivery':
      return resolved ? 'alerts are delivered again' : 'alerts cannot be delivered'
    case 'test':
      return 'this receiver works'
    case 'limit-changed':
      return series === undefined ? 'limit changed' : `limit of ${seriesName(series)}`
    case 'limit':
      return series === undefined ? 'usage' : seriesName(series)
  }
}

/** `96 % of 1,000`; less where less is known. */
export function standingOf(alert: Alert): string {
  const percent = percentOf(alert)
  if (percent !== undefined && alert.limit !== undefined)
    return `${formatPercent(percent)} of ${formatCount(alert.limit)}`
  if (percent !== undefined) return formatPercent(percent)
  return alert.usage === undefined ? '' : formatCount(alert.usage)
}

function seriesHeadline(alert: Alert, series: NonNullable<Alert['series']>): string {
  if (alert.kind === 'limit-changed') return limitChangedHeadline(alert)
  if (countsRecords(series) && alert.usage !== undefined) return countedRecords(series, alert.usage)
  const urgent = alert.status === 'firing' ? forecastThatCounts(alert) : ''
  return `${seriesName(series)} ${standingOf(alert)}`.trimEnd() + urgent
}

function limitChangedHeadline(alert: Alert): string {
  const percent = percentOf(alert)
  const used = percent === undefined ? '' : `, ${formatPercent(percent)} used`
  return `${topicOf(alert)} is now ${formatCount(alert.limit ?? 0)}${used}`
}

/** Said in the headline only where the days left, and not the usage, made the alert. */
function forecastThatCounts({ daysLeft, threshold, percent }: Alert): string {
  if (daysLeft === undefined || daysLeft <= 0) return ''
  if (threshold?.daysLeft === undefined || daysLeft > threshold.daysLeft) return ''
  const usageWouldDo = threshold.percent !== undefined && percent !== undefined && percent >= threshold.percent
  return usageWouldDo ? '' : `, full in ${formatDays(daysLeft)}`
}

function whatHappened(alert: Alert): string {
  const message = alert.kind === 'limit' ? '' : cleanText(alert.message ?? '', 600)
  if (message !== '') return message
  if (alert.reason === 'uninstalled') return 'The app was uninstalled from this account. The alert is closed.'
  return sentence(`${changeOf(alert)}: ${headlineOf(alert)}${movedLimit(alert)}`)
}

/** A level may be entered, or left, though usage stood still. */
function movedLimit({ limit, previous }: Alert): string {
  if (previous?.limit === undefined || limit === undefined || previous.limit === limit) return ''
  return ` (the limit was ${formatCount(previous.limit)})`
}

function changeOf({ reason, level, previous, kind, because }: Alert): string {
  switch (reason) {
    case 'entered':
      return kind === 'limit-changed' ? 'changed' : `now ${level}`
    case 'escalated':
      return `got worse, ${previous === undefined ? '' : `from ${previous.level} `}to ${level}`
    case 'worse':
      return `got worse, still ${level}`
    case 'eased':
      return `got better, ${previous === undefined ? '' : `from ${previous.level} `}to ${level}`
    case 'recovered':
      return recovery(because)
    case 'repeat':
      return `still ${level}`
    case 'uninstalled':
      return 'closed'
    case 'test':
      return 'test'
  }
}

/** An alert also ends when nobody looks any more: nothing got better then. */
function recovery(because: Alert['because']): string {
  switch (because?.is) {
    case 'off':
    case 'no-rule':
      return 'no longer watched'
    case 'gone':
      return 'no longer reported'
    default:
      return 'back to normal'
  }
}

function daysLeftOf({ daysLeft }: Alert): string | undefined {
  if (daysLeft === undefined) return undefined
  return daysLeft <= 0 ? 'full' : formatDays(daysLeft)
}

/** Only the newest transition of an alert is told; the others are counted. */
function changedOften({ supersedes = [] }: Alert): string {
  return supersedes.length === 0 ? '' : ` It changed ${countOf(supersedes.length + 1, 'time')} since the last message.`
}

function firstSentence(message: string | undefined): string | undefined {
  const text = cleanText(message ?? '', 600)
  const [first = ''] = text.split(/(?<=[.!?])\s/, 1)
  return first === '' ? undefined : first.replace(/\.$/, '')
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
