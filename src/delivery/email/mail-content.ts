import type { Alert, Message } from '../../alerts/alert.ts'
import { byConsequence } from '../../alerts/rank.ts'
import { countOf } from '../../text/format-number.ts'
import { formatTime } from '../../text/format-time.ts'
import { type AlertsCsv, alertsCsv } from './alerts-csv.ts'
import { type DescribedAlert, describeAlert } from './describe-alert.ts'
import type { MailLinks } from './mail-links.ts'
import { periodicSummary } from './periodic-digest.ts'
import { type SinceLast, sinceLastDigest } from './since-last-digest.ts'
import { badgeOfMessage, digestSummary, subjectOf } from './subject.ts'

export interface DescribedRow extends DescribedAlert {
  sinceLast?: SinceLast
}

/** What both parts of a mail show, in this order. */
export interface MailContent {
  badge: string
  subject: string
  /** For several alerts: one line above them all. */
  summary?: string
  /** Shown whole, each in a section. */
  sections: DescribedAlert[]
  /** Shown as one row of a table each. */
  rows: DescribedRow[]
  /** `12 more alerts not shown`. */
  omitted?: string
  /** Attached where not every alert is shown whole. */
  csv?: AlertsCsv
  footer: string
}

/** So many can be read one after the other; of more the most urgent are shown whole, and the rest is a table. */
const MAX_SECTIONS = 10
const SECTIONS_OF_MANY = 3

export function mailContent(message: Message, now: number, links: MailLinks): MailContent {
  const { truncated } = message.data
  const alerts = message.data.alerts.toSorted(byConsequence)
  const described = alerts.map((alert): DescribedRow => {
    const sinceLast = sinceLastDigest(alert, message.data)
    return { ...describeAlert(alert, now, links), ...(sinceLast !== undefined && { sinceLast }) }
  })
  const whole = sectionsOf(message)
  const summary = summaryOf(message, alerts)
  return {
    badge: badgeOfMessage(message, alerts[0]),
    subject: subjectOf(message),
    ...(summary !== undefined && { summary }),
    sections: described.slice(0, whole),
    rows: described.slice(whole),
    ...(truncated > 0 && {
      omitted: `${countOf(truncated, 'more alert')} not shown. All that are open: plimsoll alerts list`,
    }),
    ...(alerts.length > whole && { csv: alertsCsv(alerts, message) }),
    footer: `Sent by Plimsoll, ${formatTime(message.timestamp)}.`,
  }
}

function sectionsOf({ type, data }: Message): number {
  if (type === 'alert.digest') return 0
  return data.alerts.length > MAX_SECTIONS ? SECTIONS_OF_MANY : MAX_SECTIONS
}

function summaryOf({ type, data }: Message, alerts: readonly Alert[]): string | undefined {
  if (data.period !== undefined) return periodicSummary(data)
  const total = alerts.length + data.truncated
  if (type === 'alert.digest') {
    return `${digestSummary(alerts, data.truncated)}. This is how the accounts were found; whatever changes from here on is told at once.`
  }
  if (total <= 1) return undefined
  const counts = [
    count(alerts, (alert) => alert.status === 'firing' && alert.level === 'critical', 'critical'),
    count(alerts, (alert) => alert.status === 'firing' && alert.level === 'warning', 'warning'),
    count(alerts, (alert) => alert.status === 'resolved', 'resolved'),
  ].filter((text) => text !== undefined)
  const listed = data.truncated > 0 ? `, the first ${alerts.length}` : ''
  return `${countOf(total, 'alert')}${listed}: ${counts.join(', ')}.`
}

function count(alerts: readonly Alert[], matches: (alert: Alert) => boolean, name: string): string | undefined {
  const matching = alerts.filter(matches).length
  return matching === 0 ? undefined : `${matching} ${name}`
}
