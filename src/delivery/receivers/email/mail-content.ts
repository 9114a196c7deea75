import { inOrder, type Message } from '../../../alerts/alert.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type DescribedAlert, describeAlert, type MailFact } from '../../describe/describe-alert.ts'
import { changeLine, describeChanges } from '../../describe/describe-changes.ts'
import type { DescribedRecords } from '../../describe/describe-records.ts'
import { customerMessage, subjectFor } from '../../describe/for-customer.ts'
import { type Action, type MailLinks, RECONNECT } from '../../describe/mail-links.ts'
import { badgeOfMessage, totalOf } from '../../describe/subject.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import { addressIn } from './smtp.ts'

/** Content of both parts of a mail: sections, each of blocks one below the other. Nothing is escaped. */
export interface MailContent {
  subject: string
  /** Decides the color. */
  badge: string
  sections: MailBlock[][]
  footer: string
}

export type MailBlock =
  /** `hasLinks`: its addresses can be followed, because none comes from outside. */
  | { is: 'text'; text: string; look?: 'strong' | 'quiet'; hasLinks?: true }
  | { is: 'headline'; badge: string; text: string; details: string }
  | { is: 'bar'; badge: string; percent: number }
  | { is: 'facts'; facts: readonly MailFact[] }
  | { is: 'links'; actions: readonly Action[] }
  | { is: 'lines'; title?: string; lines: readonly MailLine[] }

export interface MailLine {
  badge?: string | undefined
  text: string
  url?: string | undefined
  below?: readonly MailLine[]
}

/** So many can be read one after the other; of more the worst are shown whole, and the rest is a list. */
const MAX_SECTIONS = 10
const SECTIONS_OF_MANY = 3

/** `from` is where a reply goes. */
export function mailContent(
  message: Message,
  now: number,
  links: MailLinks & { from?: string },
  texts: TemplateTexts = {},
): MailContent {
  if (links.isForCustomer && texts.body === undefined) return customerContent(message, links, texts.title)
  const sentBy = links.isForCustomer ? cleanText(links.appName ?? 'Plimsoll', 80) : 'Plimsoll'
  return {
    subject: texts.title ?? subjectFor(message, links),
    badge: badgeOfMessage(message),
    sections:
      texts.body === undefined
        ? sectionsOf(message, now, links)
        : [[{ is: 'text', text: texts.body, hasLinks: true as const }]],
    footer: `Sent by ${sentBy}, ${formatTime(message.timestamp)}.`,
  }
}

/** Order: how many alerts, the worst of them whole, a line for each of the rest, what changed. */
function sectionsOf(message: Message, now: number, links: MailLinks): MailBlock[][] {
  const { type, data } = message
  const accounts = Map.groupBy(inOrder(message), ({ account }) => account?.hubId)
  const described = [...accounts.values()].flat().map((alert) => describeAlert(alert, now, links))
  const most = data.alerts.length > MAX_SECTIONS ? SECTIONS_OF_MANY : MAX_SECTIONS
  const whole = described.slice(0, type === 'alert.digest' ? 0 : most)
  const others = described.slice(whole.length)
  const omitted = `${countOf(data.truncated, 'more alert')} not shown. All open alerts: plimsoll alerts list`
  const sections: MailBlock[][] = [
    summaryBlocks(message, others.length === 0 ? whole : [], accounts.size > 1),
    ...withoutRepeats(whole).map((alert, n) => wholeBlocks(alert, alert.subject !== whole[n - 1]?.subject)),
    others.length === 0 ? [] : [{ is: 'lines', lines: accountLines(others) }],
    data.truncated === 0 ? [] : [{ is: 'text', text: omitted }],
    data.changed === undefined ? [] : changeBlocks(describeChanges(data.changed, links.changes)),
  ]
  return sections.filter((blocks) => blocks.length > 0)
}

/** A line for each alert, where they are all shown whole below. */
function summaryBlocks(message: Message, shown: readonly DescribedAlert[], areNamed: boolean): MailBlock[] {
  const title = summaryOf(message)
  if (title === undefined) return []
  const lines = shown.map(({ badge, subject, headline, actions: [open] }) => ({
    badge,
    text: areNamed ? `${subject}: ${headline}` : headline,
    url: open?.url,
  }))
  return [lines.length === 0 ? { is: 'text', text: title } : { is: 'lines', title, lines }]
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

/** Each account with its alerts below it. */
function accountLines(alerts: readonly DescribedAlert[]): MailLine[] {
  const bySubject = Map.groupBy(alerts, ({ subject }) => subject)
  return [...bySubject].map(([subject, own]) => ({
    text: subject,
    url: own[0]?.url,
    below: own.map(({ badge, topic, numbers, actions }): MailLine => {
      const reconnect = actions.filter(({ name }) => name === RECONNECT)
      const below = reconnect.map(({ name, url }): MailLine => ({ text: name, url }))
      return { badge, text: `${topic}, ${numbers}`, below }
    }),
  }))
}

function wholeBlocks(alert: DescribedAlert, isNamed: boolean): MailBlock[] {
  const { badge, subject, headline, details, percent, facts, actions, records } = alert
  const blocks: (MailBlock | undefined)[] = [
    isNamed ? { is: 'text', text: subject, look: 'strong' } : undefined,
    { is: 'headline', badge, text: `${headline}.`, details },
    percent === undefined ? undefined : { is: 'bar', badge, percent },
    facts.length === 0 ? undefined : { is: 'facts', facts },
    records === undefined
      ? undefined
      : { is: 'lines', title: `Records (${records.note})`, lines: recordLines(records) },
    actions.length === 0 ? undefined : { is: 'links', actions },
  ]
  return blocks.filter((block) => block !== undefined)
}

function recordLines({ rows, left }: DescribedRecords): MailLine[] {
  const lines = rows.map(({ label, id, usage, isNew, url }): MailLine => {
    const name = label === undefined ? `#${id}` : `${label} (#${id})`
    return { badge: isNew ? 'NEW' : undefined, text: `${name}: ${usage}`, url }
  })
  return left === undefined ? lines : [...lines, { text: left }]
}

function changeBlocks({ line, note, groups, more }: ReturnType<typeof describeChanges>): MailBlock[] {
  return [
    { is: 'text', text: line },
    ...groups.map(
      ({ title, accounts }): MailBlock => ({
        is: 'lines',
        title,
        lines: accounts.map((account) => ({ text: changeLine(account) })),
      }),
    ),
    { is: 'text', text: [more, note ?? []].flat().join('\n'), look: 'quiet', hasLinks: true },
  ]
}

/** The same advice is read once. */
function withoutRepeats(sections: readonly DescribedAlert[]): DescribedAlert[] {
  const said = new Set<string>()
  const isNew = ({ name, value }: MailFact) => name !== 'To do' || (!said.has(value) && said.add(value))
  return sections.map((one) => ({ ...one, facts: one.facts.filter(isNew) }))
}

/** A mail in a customer's words. */
function customerContent(
  message: Message,
  links: MailLinks & { from?: string },
  title: string | undefined,
): MailContent {
  const { subject, happened, limits, toDo, button, sender } = customerMessage(message, links)
  const lines = limits.map(({ name, used, consequence, records }): MailLine => {
    const below = consequence === '' ? records : [{ text: consequence }, ...records]
    return { text: `${name}: ${used}`, below }
  })
  const blocks: (MailBlock | undefined)[] = [
    { is: 'text', text: ['Hello,', ...happened].join('\n\n') },
    lines.length === 0 ? undefined : { is: 'lines', title: 'Limits', lines },
    toDo.length === 0 ? undefined : { is: 'lines', title: 'What to do', lines: toDo.map((text) => ({ text })) },
    button === undefined ? undefined : { is: 'links', actions: [button] },
    { is: 'text', text: 'Questions? Reply to this mail.' },
  ]
  return {
    subject: title ?? subject,
    badge: '',
    sections: [blocks.filter((block) => block !== undefined)],
    footer: `${sender}, ${addressIn(links.from ?? '')}\nYou get this mail because ${sender} was connected to your HubSpot account.`,
  }
}
