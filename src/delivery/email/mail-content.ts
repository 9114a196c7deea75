import { type Alert, compareStanding, type Message } from '../../alerts/alert.ts'
import { byConsequence } from '../../alerts/rank.ts'
import { countOf, formatCount } from '../../text/format-number.ts'
import { formatTime } from '../../text/format-time.ts'
import { type AlertsCsv, alertsCsv } from './alerts-csv.ts'
import { type DescribedAlert, describeAlert } from './describe-alert.ts'
import type { MailLinks } from './mail-links.ts'
import { accountsIn, badgeOfMessage, subjectOf, totalOf } from './subject.ts'

/** One of several alerts of a mail, which lists them account by account. */
export interface ListedAlert extends DescribedAlert {
  /** In a digest: how it moved since the one before. */
  sinceLast?: 'new' | 'worse' | 'better'
  /** On the first of its account: the account, and where it has several alerts how many, and the worst. */
  heading?: string
}

/** What both parts of a mail show, in this order. */
export interface MailContent {
  badge: string
  subject: string
  /** For alerts of several accounts: one line above them all. */
  summary?: string
  /** Shown whole, each in a section. */
  sections: ListedAlert[]
  /** Shown as one row of a table each. */
  rows: ListedAlert[]
  /** `12 more alerts not shown`. */
  omitted?: string
  /** Attached where not every alert is shown whole. */
  csv?: AlertsCsv
  footer: string
}

/** So many can be read one after the other; of more the worst are shown whole, and the rest is a table. */
const MAX_SECTIONS = 10
const SECTIONS_OF_MANY = 3

export function mailContent(message: Message, now: number, links: MailLinks): MailContent {
  const { type, timestamp, data } = message
  const count = data.alerts.length
  const whole = type === 'alert.digest' ? 0 : count > MAX_SECTIONS ? SECTIONS_OF_MANY : MAX_SECTIONS
  const accounts = Map.groupBy(data.alerts.toSorted(byConsequence), ({ account }) => account?.hubId)
  const alerts = [...accounts.values()].flat()
  const listed = [...accounts.values()].flatMap((own) => {
    const described = own.map((alert) => listedAlert(alert, message, now, links))
    return described.map((one, n) => (n === 0 ? { ...one, heading: headingOf(own, described) } : one))
  })
  const rows = listed.slice(whole)
  const [next] = rows
  if (next !== undefined) rows[0] = { heading: next.subject, ...next }
  const summary = summaryOf(message)
  return {
    badge: badgeOfMessage(message),
    subject: subjectOf(message),
    ...(summary !== undefined && { summary }),
    ...{ sections: listed.slice(0, whole), rows },
    ...(data.truncated > 0 && {
      omitted: `${countOf(data.truncated, 'more alert')} not shown. All open alerts: plimsoll alerts list`,
    }),
    ...(rows.length > 0 && { csv: alertsCsv(alerts, message) }),
    footer: `Sent by Plimsoll, ${formatTime(timestamp)}.`,
  }
}

function listedAlert(alert: Alert, { data }: Message, now: number, links: MailLinks): ListedAlert {
  const { previous } = alert
  const moved = data.changes === undefined ? 'same' : previous === undefined ? 'new' : compareStanding(previous, alert)
  return { ...describeAlert(alert, now, links), ...(moved !== 'same' && { sinceLast: moved }) }
}

/** `acme.example.com (123): 3 critical, 2 warning; worst: Companies → Contacts: fullest record 100 % of 500`. */
function headingOf(alerts: Alert[], [worst]: DescribedAlert[]): string {
  if (worst === undefined || alerts.length === 1) return worst?.subject ?? ''
  const total = totalOf({ groupKey: '', truncated: 0, alerts }).replace(/ in [\d,]+ accounts?$/, '')
  return `${worst.subject}: ${total}; worst: ${worst.headline}`
}

function summaryOf({ type, data }: Message): string | undefined {
  const { alerts, truncated, period, changes } = data
  if (period !== undefined) {
    const since = changes === undefined ? [] : Object.entries(changes).map(([name, n]) => `${formatCount(n)} ${name}`)
    const moved = since.length === 0 ? '' : `; since the last one: ${since.join(', ')}`
    return `${period === 'week' ? 'Weekly' : 'Daily'} digest: ${totalOf(data)}${moved}.`
  }
  if (type === 'alert.digest') {
    return `First readings of new accounts: ${totalOf(data)}. Every change from here on is a message of its own.`
  }
  if (truncated === 0 && accountsIn(alerts) <= 1) return undefined
  const listed = truncated > 0 ? `, the first ${alerts.length}` : ''
  return `${countOf(alerts.length + truncated, 'alert')}${listed}: ${totalOf({ ...data, truncated: 0 })}.`
}
