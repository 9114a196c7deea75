import { type Alert, inOrder, type Message, UNINSTALL_RULE } from '../../alerts/alert.ts'
import { countsRecords, limitIsFull, nameParts, seriesName, wayOutOf } from '../../alerts/series-name.ts'
import { defined } from '../../runtime/defined.ts'
import { cleanText } from '../../text/clean-text.ts'
import { countOf, formatCount } from '../../text/format-number.ts'
import { percentOf } from './describe-alert.ts'
import { describeRecords } from './describe-records.ts'
import { type Action, type MailLinks, safeUrl, wantsReconnect } from './mail-links.ts'
import { subjectLine } from './subject.ts'

/** Links for a customer: the one that connects their account, and their own site and records. */
export function linksOfCustomer({ reconnect, record, site, appName }: MailLinks): MailLinks {
  return { ...defined({ reconnect, record, site, appName }), isForCustomer: true }
}

/** A message as its reader reads it. */
export function messageFor(message: Message, { isForCustomer, appName }: MailLinks): Message {
  if (!isForCustomer) return message
  const { data } = message
  return { ...message, data: { ...data, alerts: data.alerts.map((alert) => forCustomer(alert, appName)) } }
}

export function subjectFor(message: Message, links: MailLinks): string {
  return links.isForCustomer ? customerMessage(message, links).subject : subjectLine(message)
}

/** An alert as the customer of its account reads it: without our rules and pages, and in their words. */
function forCustomer({ url: _, because: __, ...alert }: Alert, appName = 'the app'): Alert {
  const isLimit = alert.kind === 'limit' || alert.kind === 'limit-changed'
  if (isLimit) return { ...alert, rule: '' }
  return { ...alert, message: customerSentence(alert, 'Your HubSpot account', cleanText(appName, 80)) }
}

/** A message in the words of the customer of one account: what happened, what to do, one button, who sends it. */
export interface CustomerMessage {
  subject: string
  /** Sentences about what happened. */
  happened: readonly string[]
  /** Limits, the fullest first: the name, and how much of it is used. */
  limits: readonly CustomerLimit[]
  toDo: readonly string[]
  button?: Action
  /** Name of the app. */
  sender: string
}

interface CustomerLimit {
  name: string
  used: string
  /** Meaning of a full limit: `At 1,000 you can create no more custom properties.` */
  consequence: string
  /** Records that are full or nearly so: `Ann: 500`. */
  records: readonly { text: string; url: string | undefined }[]
}

const MOST_RECORDS = 10

const FORWARD = 'If you are not an administrator, forward this mail to one. The link works for 7 days.'

/** Rows that a reader takes in. */
const MOST_LIMITS = 25

export function customerMessage(message: Message, links: MailLinks): CustomerMessage {
  const sender = cleanText(links.appName ?? 'The app', 80)
  const alerts = inOrder(message)
  const account = nameOf(alerts[0]?.account)
  const isNear = ({ kind, status, reason }: Alert) =>
    kind === 'limit' && status === 'firing' && reason !== 'uninstalled'
  const near = alerts.filter(isNear).sort((a, b) => (percentOf(b) ?? 0) - (percentOf(a) ?? 0))
  const over = alerts.filter(({ kind, status }) => kind === 'limit' && status === 'resolved')
  const moved = alerts.filter(({ kind }) => kind === 'limit-changed')
  const others = alerts.filter((alert) => !near.includes(alert) && !over.includes(alert) && !moved.includes(alert))
  const sentences = [
    ...new Set(others.map((alert) => customerSentence(alert, account, sender))),
    ...(near.length === 0 ? [] : [`${account} ${nearText(near, message.data.truncated)}.`]),
    ...(over.length === 0 ? [] : [`${account} is no longer close to ${limitsText(over.length)}.`]),
    ...(moved.length === 0 ? [] : [`${account} has ${limitsText(moved.length)} that changed.`]),
  ]
  const shown = [...near, ...moved, ...over]
  const button = buttonOf(alerts, links)
  return {
    subject: subjectOf(alerts, sender) ?? sentences[0]?.replace(/\.$/, '') ?? `News about ${lower(account)}`,
    happened: sentences,
    limits: shown.slice(0, MOST_LIMITS).map((alert) => ({ ...limitOf(alert), records: recordsOf(alert, links) })),
    toDo: [...new Set(alerts.flatMap(toDoAbout))],
    ...(button !== undefined && { button }),
    sender,
  }
}

/** The one thing to do, where the mail is about nothing else. */
function subjectOf(alerts: readonly Alert[], sender: string): string | undefined {
  const isAsked = alerts.length > 0 && alerts.every((alert) => alert.status === 'firing' && wantsReconnect(alert))
  const name = cleanText(alerts[0]?.account?.hubDomain ?? '', 80) || 'your HubSpot account'
  if (!isAsked) return undefined
  return alerts.every(lacksPermission)
    ? `${sender} needs a permission in ${name}`
    : `Connect ${sender} to ${name} again`
}

function lacksPermission({ kind, cause }: Alert): boolean {
  return kind === 'poll' && cause === 'scopes'
}

/** `Your HubSpot account acme.example.com`. */
function nameOf(account: Alert['account']): string {
  const name = cleanText(account?.hubDomain ?? '', 80)
  return `Your HubSpot account${name === '' ? '' : ` ${name}`}`
}

function nearText(near: readonly Alert[], truncated: number): string {
  const full = near.filter((alert) => (percentOf(alert) ?? 0) >= 100).length
  const is = full === 0 ? 'is close to' : full === near.length ? 'has reached' : 'has reached or is close to'
  return `${is} ${limitsText(near.length + truncated)}`
}

function limitsText(count: number): string {
  return count === 1 ? 'a limit' : countOf(count, 'limit')
}

/** An alert that is not about a limit. */
function customerSentence(alert: Alert, account: string, sender: string): string {
  const { status, reason, rule } = alert
  if (reason === 'uninstalled' || rule === UNINSTALL_RULE) return `${sender} was uninstalled from ${lower(account)}.`
  if (status === 'resolved') return `${sender} works with ${lower(account)} again.`
  if (!wantsReconnect(alert)) return `${sender} can't reach ${lower(account)} for now. It tries again by itself.`
  if (lacksPermission(alert)) return `${sender} lacks the permission to read CRM objects in ${lower(account)}.`
  const lost = `${sender} is no longer connected to ${lower(account)}. Its access was withdrawn or has expired.`
  return `${lost} Until you connect again, ${sender} can't read or change data there.`
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** `Property Listings`, `997 of 1,000 custom properties used`. */
function limitOf({ series = { metric: '' }, usage = 0, limit, status }: Alert): Omit<CustomerLimit, 'records'> {
  const { about, noun } = nameParts(series)
  const name = about === '' ? seriesName(series) : about
  const counts = countsRecords(series)
  const of = limit === undefined ? '' : ` of ${formatCount(limit)}`
  const used = counts ? '' : `${of} ${about === '' || noun === '' ? '' : `${noun} `}used`
  const isFull = counts === 'full' || (limit !== undefined && usage >= limit)
  const when = isFull ? 'Now' : `At ${counts ? 'the maximum' : formatCount(limit ?? 0)}`
  const consequence = status === 'resolved' ? '' : `${when} ${limitIsFull(series)}.`
  return { name, used: `${formatCount(usage)}${used}`, consequence }
}

function recordsOf(alert: Alert, links: MailLinks): CustomerLimit['records'] {
  const rows = describeRecords(alert, links.record)?.rows.slice(0, MOST_RECORDS) ?? []
  const left = (alert.records?.total ?? 0) - rows.length
  const shown = rows.map(({ label, id, usage, url }) => ({ text: `${label ?? `#${id}`}: ${usage}`, url: safeUrl(url) }))
  return left > 0 && rows.length > 0 ? [...shown, { text: `and ${formatCount(left)} more`, url: undefined }] : shown
}

function toDoAbout(alert: Alert): string[] {
  if (alert.status !== 'firing') return []
  if (wantsReconnect(alert)) {
    const agree = lacksPermission(alert) ? ' and agree to the permissions that it asks for' : ''
    return [`Connect it again as an administrator of the account${agree}.`, FORWARD]
  }
  if (alert.series === undefined) return []
  if (alert.kind === 'limit-changed') return ['Check that the account has enough room left.']
  return [`${wayOutOf(alert.series) ?? 'Make room'}, or ask HubSpot for a higher limit.`]
}

/** The one thing to do: connect again, else open the account. */
function buttonOf(alerts: readonly Alert[], links: MailLinks): Action | undefined {
  const lost = alerts.find((alert) => alert.status === 'firing' && wantsReconnect(alert))
  const connect = lost && safeUrl(links.reconnect?.(lost))
  if (connect !== undefined) return { name: 'Connect again', url: connect }
  const [first] = alerts
  const site = first && safeUrl(links.site?.(first))
  return site === undefined ? undefined : { name: 'Open HubSpot', url: site }
}
