import type { Alert, Message } from '../../alerts/alert.ts'
import { countOf } from '../../text/format-number.ts'
import { formatTime } from '../../text/format-time.ts'
import { type DescribedAlert, describeAlert } from './describe-alert.ts'
import { periodicSummary } from './periodic-digest.ts'
import { rankAlerts } from './rank-alerts.ts'
import { badgeOfMessage, digestSummary, subjectOf } from './subject.ts'

/** What both parts of a mail show, in this order. */
export interface MailContent {
  badge: string
  subject: string
  /** For several alerts: one line above them all. */
  summary?: string
  /** Shown whole, each in a section. */
  sections: DescribedAlert[]
  /** Shown as one row of a table each. */
  rows: DescribedAlert[]
  /** `12 more alerts not shown`. */
  omitted?: string
  footer: string
}

/** Mail programs clip what is longer than about 100 kB: behind the most urgent ones a row each has to do. */
const MAX_SECTIONS = 10

export function mailContent(message: Message, now: number): MailContent {
  const { truncated } = message.data
  const alerts = rankAlerts(message.data.alerts)
  const described = alerts.map((alert) => describeAlert(alert, now))
  const whole = message.type === 'alert.digest' ? 0 : MAX_SECTIONS
  const summary = summaryOf(message, alerts)
  return {
    badge: badgeOfMessage(message, alerts[0]),
    subject: subjectOf(message),
    ...(summary !== undefined && { summary }),
    sections: described.slice(0, whole),
    rows: described.slice(whole),
    ...(truncated > 0 && { omitted: `${countOf(truncated, 'more alert')} not shown.` }),
    footer: `Sent by Plimsoll, ${formatTime(message.timestamp)}.`,
  }
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
