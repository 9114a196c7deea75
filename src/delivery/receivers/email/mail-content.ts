import { inOrder, type Message } from '../../../alerts/alert.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type Badge, type DescribedAlert, describeAlert, type MailFact } from '../../describe/describe-alert.ts'
import { type DescribedChanges, describeChanges } from '../../describe/describe-changes.ts'
import { subjectFor } from '../../describe/for-customer.ts'
import type { MailLinks } from '../../describe/mail-links.ts'
import { badgeOfMessage, totalOf } from '../../describe/subject.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'

/** One of several alerts of a mail, which lists them account by account. */
export interface ListedAlert extends DescribedAlert {
  /** On the first of its account: the account. */
  heading?: string
}

/** Content of both parts of a mail, in this order. */
export interface MailContent {
  badge: string
  subject: string
  /** By a template of the config: plain text in place of all below but the footer. */
  own?: string
  /** Changes since the digest before; of a digest, and below its alerts. */
  changes?: DescribedChanges
  /** One line above several alerts. */
  summary?: string
  /** Below it, of alerts that are all shown whole: a line for each, and its page. */
  overview: { badge: Badge; line: string; url?: string }[]
  /** Shown whole, each in a section. */
  sections: ListedAlert[]
  /** Shown as one row of a table each. */
  rows: ListedAlert[]
  /** `12 more alerts not shown`. */
  omitted?: string
  footer: string
}

/** So many can be read one after the other; of more the worst are shown whole, and the rest is a table. */
const MAX_SECTIONS = 10
const SECTIONS_OF_MANY = 3

export function mailContent(message: Message, now: number, links: MailLinks, texts: TemplateTexts = {}): MailContent {
  const { type, timestamp, data } = message
  const count = data.alerts.length
  const whole = type === 'alert.digest' ? 0 : count > MAX_SECTIONS ? SECTIONS_OF_MANY : MAX_SECTIONS
  const accounts = Map.groupBy(inOrder(message), ({ account }) => account?.hubId)
  const listed = [...accounts.values()].flatMap((own) => {
    const [first, ...others] = own.map((alert) => describeAlert(alert, now, links))
    return first === undefined ? [] : [{ ...first, heading: first.subject }, ...others]
  })
  const rows = listed.slice(whole)
  const [next] = rows
  if (next !== undefined) rows[0] = { heading: next.subject, ...next }
  const summary = summaryOf(message)
  return {
    badge: badgeOfMessage(message),
    subject: texts.title ?? subjectFor(message, links),
    ...(texts.body !== undefined && { own: texts.body }),
    ...(data.changed !== undefined && { changes: describeChanges(data.changed, links.changes) }),
    ...(summary !== undefined && { summary }),
    overview: summary === undefined || rows.length > 0 ? [] : overviewOf(listed, accounts.size > 1),
    sections: withoutRepeats(listed.slice(0, whole)),
    rows,
    ...(data.truncated > 0 && {
      omitted: `${countOf(data.truncated, 'more alert')} not shown. All open alerts: plimsoll alerts list`,
    }),
    footer: `Sent by ${links.isForCustomer ? cleanText(links.appName ?? 'Plimsoll', 80) : 'Plimsoll'}, ${formatTime(timestamp)}.`,
  }
}

function overviewOf(listed: readonly ListedAlert[], areNamed: boolean): MailContent['overview'] {
  return listed.map(({ badge, subject, headline, actions: [open] }) => ({
    badge,
    line: areNamed ? `${subject}: ${headline}` : headline,
    ...(open !== undefined && { url: open.url }),
  }))
}

/** The same advice is read once. */
function withoutRepeats(sections: readonly ListedAlert[]): ListedAlert[] {
  const said = new Set<string>()
  const isNew = ({ name, value }: MailFact) => name !== 'To do' || (!said.has(value) && said.add(value))
  return sections.map((one) => ({ ...one, facts: one.facts.filter(isNew) }))
}

function summaryOf({ type, data }: Message): string | undefined {
  const { alerts, truncated, period } = data
  if (period !== undefined) return alerts.length > 0 ? undefined : 'No open alerts.'
  if (type === 'alert.digest') {
    return `First readings of new accounts: ${totalOf(data)}. From now on each change is a message of its own.`
  }
  if (alerts.length + truncated <= 1) return undefined
  const listed = truncated > 0 ? `, the first ${alerts.length}` : ''
  return `${countOf(alerts.length + truncated, 'alert')}${listed}: ${totalOf({ ...data, truncated: 0 })}.`
}
