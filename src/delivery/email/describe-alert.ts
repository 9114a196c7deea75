import { type Alert, type AlertRecord, UNINSTALL_RULE } from '../../alerts/alert.ts'
import { countedRecords, countsRecords, seriesName } from '../../alerts/series-name.ts'
import { cleanText } from '../../text/clean-text.ts'
import { formatDaysLeft, formatDaysRange } from '../../text/days-left.ts'
import { countOf, formatChange, formatCount, formatDays, formatPercent } from '../../text/format-number.ts'
import { formatTime, formatTimeAndAge } from '../../text/format-time.ts'

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
  facts: { name: string; value: string }[]
  records?: { rows: DescribedRecord[]; note: string }
  url?: string
}

export interface DescribedRecord {
  /** Absent where labels are not kept. */
  label?: string
  id: string
  usage: string
}

export function describeAlert(alert: Alert, now: number): DescribedAlert {
  const percent = percentOf(alert)
  const records = describeRecords(alert)
  const url = safeUrl(alert.url)
  return {
    badge: badgeOf(alert),
    subject: accountName(alert) ?? (alert.kind === 'delivery' ? 'Delivery of alerts' : 'All accounts'),
    headline: headlineOf(alert),
    topic:
      alert.kind === 'limit' && alert.reason !== 'uninstalled' && percent !== undefined
        ? topicOf(alert)
        : headlineOf(alert),
    happened: whatHappened(alert),
    ...(percent !== undefined && { percent }),
    ...(alert.limit !== undefined && { limit: formatCount(alert.limit) }),
    facts: [...usageFacts(alert), ...timeFacts(alert, now)],
    ...(records !== undefined && { records }),
    ...(url !== undefined && { url }),
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
  return alert.limit === undefined
    ? `${topicOf(alert)} is no longer reported`
    : `${topicOf(alert)} is now ${formatCount(alert.limit)}${used}`
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

function changeOf({ reason, level, previous, kind }: Alert): string {
  switch (reason) {
    case 'entered':
      return kind === 'limit-changed' ? 'changed' : `now ${level}`
    case 'escalated':
      return `got worse, ${previous === undefined ? '' : `from ${previous.level} `}to ${level}`
    case 'eased':
      return `got better, ${previous === undefined ? '' : `from ${previous.level} `}to ${level}`
    case 'recovered':
      return 'back to normal'
    case 'repeat':
      return `still ${level}`
    case 'uninstalled':
      return 'closed'
    case 'test':
      return 'test'
  }
}

function usageFacts(alert: Alert): DescribedAlert['facts'] {
  const { usage, limit, previous, threshold, status, level, kind } = alert
  const facts: DescribedAlert['facts'] = []
  const percent = percentOf(alert)
  if (usage !== undefined) {
    const share = percent === undefined ? '' : ` (${formatPercent(percent)})`
    const left = remainingOf(alert)
    facts.push({
      name: alert.series !== undefined && countsRecords(alert.series) ? 'Records' : 'Usage',
      value: `${formatCount(usage)}${limit === undefined ? '' : ` of ${formatCount(limit)}${share}${left}`}`,
    })
  }
  if (previous !== undefined) facts.push({ name: 'Before', value: describePrevious(previous, alert) })
  if (threshold !== undefined) {
    const conditions = describeThreshold(threshold)
    if (conditions !== '') {
      facts.push({ name: 'Threshold', value: `${status === 'resolved' ? 'was ' : ''}${level} at ${conditions}` })
    }
  }
  if (kind === 'limit' || kind === 'limit-changed') facts.push({ name: 'Rule', value: cleanText(alert.rule, 80) })
  const foretold = status === 'firing' ? foretoldBy(alert) : undefined
  if (foretold !== undefined) facts.push({ name: 'Forecast', value: foretold })
  return facts
}

function foretoldBy({ daysLeft, daysLeftRange }: Alert): string | undefined {
  if (daysLeft === undefined || daysLeft <= 0) return daysLeft === undefined ? undefined : 'full'
  const range = daysLeftRange === undefined ? '' : formatDaysRange(daysLeft, daysLeftRange)
  return `${formatDaysLeft(daysLeft)} at this pace${range}`
}

function timeFacts({ since, measuredAt, series, kind }: Alert, now: number): DescribedAlert['facts'] {
  if (kind === 'test') return []
  const facts = [{ name: 'Since', value: formatTimeAndAge(since, now) }]
  if (series !== undefined) facts.push({ name: 'Measured', value: formatTimeAndAge(measuredAt, now) })
  return facts
}

function remainingOf({ remaining, usage, limit }: Alert): string {
  const left = remaining ?? (usage === undefined || limit === undefined ? undefined : limit - usage)
  if (left === undefined) return ''
  return left < 0 ? `, ${formatCount(-left)} over the limit` : `, ${formatCount(left)} left`
}

function describePrevious(previous: NonNullable<Alert['previous']>, { usage, limit }: Alert): string {
  const then = formatTime(previous.measuredAt)
  if (previous.usage === undefined) return `${previous.level}, ${then}`
  const change = usage === undefined || usage === previous.usage ? 0 : usage - previous.usage
  const since = change === 0 ? 'unchanged since' : `${formatChange(change)} since`
  const of = previous.limit === undefined || previous.limit === limit ? '' : ` of ${formatCount(previous.limit)}`
  return `${formatCount(previous.usage)}${of} (${previous.level}), ${since} ${then}`
}

function describeThreshold({ percent, count, remaining, daysLeft }: NonNullable<Alert['threshold']>): string {
  const conditions: string[] = []
  if (percent !== undefined) conditions.push(`${formatPercent(percent)} used`)
  if (count !== undefined) conditions.push(countOf(count, 'record'))
  if (remaining !== undefined) conditions.push(`${formatCount(remaining)} left`)
  if (daysLeft !== undefined) conditions.push(`${formatDays(daysLeft)} to the limit`)
  return conditions.join(' or ')
}

function describeRecords({ records }: Alert): DescribedAlert['records'] {
  if (records === undefined || records.items.length === 0) return undefined
  const { items, total } = records
  const note =
    items.length < total
      ? `${formatCount(items.length)} of ${formatCount(total)} shown`
      : `${formatCount(items.length)}`
  return { rows: items.map(describeRecord), note }
}

function describeRecord({ label, objectId, usage }: AlertRecord): DescribedRecord {
  const name = label === undefined ? undefined : cleanText(label)
  return {
    ...(name === undefined ? {} : { label: name === '' ? '(no name)' : name }),
    id: String(objectId),
    usage: usage === undefined ? 'at its limit' : formatCount(usage),
  }
}

export function percentOf({ percent, usage, limit }: Alert): number | undefined {
  if (percent !== undefined) return percent
  return usage === undefined || limit === undefined || limit <= 0 ? undefined : (usage / limit) * 100
}

function safeUrl(url: string | undefined): string | undefined {
  const parsed = url === undefined ? null : URL.parse(url)
  return parsed !== null && /^https?:$/.test(parsed.protocol) ? parsed.href : undefined
}

function firstSentence(message: string | undefined): string | undefined {
  const text = cleanText(message ?? '', 600)
  const [first = ''] = text.split(/(?<=[.!?])\s/, 1)
  return first === '' ? undefined : first.replace(/\.$/, '')
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
