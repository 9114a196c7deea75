import { type Alert, alertOf, inOrder, type Message } from '../../alerts/alert.ts'
import { cleanText } from '../../text/clean-text.ts'
import { type DescribedAlert, describeAlert, lastedFor, percentOf } from '../describe/describe-alert.ts'
import { subjectFor } from '../describe/for-customer.ts'
import { RECONNECT } from '../describe/mail-links.ts'
import { outlineOf, outlineText } from '../describe/outline.ts'
import { badgeOfMessage } from '../describe/subject.ts'
import type { BodyContext } from '../receivers/receiver-kind.ts'
import { TEMPLATE_FILTERS, TEMPLATE_TAGS, type TemplateScope, type TemplateValue } from './liquid.ts'

export { TEMPLATE_FILTERS, TEMPLATE_TAGS }

interface Field<Of> {
  /** Meaning of the field. */
  is: string
  of: (shown: Of) => TemplateValue | undefined
}

/** By name; `account.id` is in a group. Absent values are empty, and false in a condition. */
type Fields<Of> = Readonly<Record<string, Field<Of>>>

interface ShownMessage {
  message: Message
  context: Omit<BodyContext, 'groupBy'>
  alerts: readonly TemplateScope[]
}

interface ShownAlert {
  alert: Alert
  described: DescribedAlert
}

type ShownRecord = NonNullable<DescribedAlert['records']>['rows'][number]

/** Longest text of a field. */
const MOST_TEXT = 20_000
const MOST_WORD = 120

const MESSAGE: Fields<ShownMessage> = {
  type: {
    is: 'what the message is: `alert.firing`, `alert.resolved`, `alert.digest`, `alert.test`, and with `events` `alert.acknowledged`, `account.connected` and so on',
    of: typeOf,
  },
  badge: {
    is: '`CRITICAL`, `WARNING`, `RESOLVED`, `DIGEST`, `TEST`, `ACKNOWLEDGED` or `ACCOUNT`',
    of: ({ message }) => badgeOfMessage(message),
  },
  subject: {
    is: 'the subject without a template',
    of: ({ message, context }) => subjectFor(message, context.links ?? {}),
  },
  text: {
    is: 'the whole message as plain text, without a template',
    of: ({ message, context: { home, links = {} } }) =>
      outlineText(outlineOf(message, links), home, (text) => text.length < MOST_TEXT),
  },
  time: { is: 'when the message was made', of: ({ message }) => message.timestamp },
  receiver: { is: 'the name of the receiver', of: ({ context }) => context.receiver },
  home: { is: 'the address of the status page', of: ({ context }) => context.home || undefined },
  count: {
    is: 'how many alerts the message is about',
    of: ({ message: { data } }) => data.alerts.length + data.truncated,
  },
  truncated: { is: 'how many of them are left out of `alerts`', of: ({ message }) => message.data.truncated },
  'account.id': { is: 'the hub id, where the message is about one account', of: (shown) => onlyAccount(shown)?.hubId },
  'account.domain': { is: 'the domain of that account', of: (shown) => domainOf(onlyAccount(shown)) },
  'acknowledged.by': {
    is: 'who acknowledged, of `alert.acknowledged`',
    of: ({ message }) => word(message.data.acknowledged?.by),
  },
  'acknowledged.comment': {
    is: 'what is being done',
    of: ({ message }) => word(message.data.acknowledged?.comment),
  },
  alert: { is: 'the first of `alerts`', of: ({ alerts }) => alerts[0] },
  alerts: { is: 'a list of alerts, the worst first', of: ({ alerts }) => alerts },
}

const ALERT: Fields<ShownAlert> = {
  id: { is: 'the id of the alert, the same from its opening to its end', of: ({ alert }) => alertOf(alert) },
  kind: {
    is: '`limit`, `limit-changed`, `token`, `poll`, `fleet`, `delivery` or `test`',
    of: ({ alert }) => alert.kind,
  },
  status: { is: '`firing` or `resolved`', of: ({ alert }) => alert.status },
  level: {
    is: '`warning` or `critical`; of an alert that is resolved the level before',
    of: ({ alert }) => alert.level,
  },
  badge: { is: '`CRITICAL`, `WARNING`, `RESOLVED` or `TEST`', of: ({ described }) => described.badge },
  reason: {
    is: 'why it is sent: `entered`, `escalated`, `eased`, `worse`, `repeat`, `recovered`, `uninstalled` or `test`',
    of: ({ alert }) => alert.reason,
  },
  rule: { is: 'the name of the rule in `thresholds`', of: ({ alert }) => word(alert.rule) },
  cause: { is: 'a short word for the cause, of kinds that are not about a number', of: ({ alert }) => alert.cause },
  subject: { is: '`acme.example.com (123)`, or what it is about instead', of: ({ described }) => described.subject },
  headline: { is: '`custom properties, 960 of 1,000`', of: ({ described }) => described.headline },
  happened: { is: 'what happened, in sentences', of: ({ described }) => described.happened },
  'account.id': { is: 'the hub id', of: ({ alert }) => alert.account?.hubId },
  'account.domain': { is: 'the domain of the account', of: ({ alert }) => domainOf(alert.account) },
  'series.metric': { is: 'the metric, of a limit', of: ({ alert }) => alert.series?.metric },
  'series.objectTypeId': { is: 'the object type', of: ({ alert }) => word(alert.series?.objectTypeId) },
  'series.label': { is: 'its name', of: ({ alert }) => word(alert.series?.label) },
  'series.from': {
    is: 'of a pair: the object type that associations start from',
    of: ({ alert }) => word(alert.series?.from),
  },
  'series.to': { is: 'of a pair: the other one', of: ({ alert }) => word(alert.series?.to) },
  usage: { is: 'a number', of: ({ alert }) => alert.usage },
  limit: { is: 'a number', of: ({ alert }) => alert.limit },
  percent: { is: 'usage as a share of the limit', of: ({ alert }) => percentOf(alert) },
  remaining: { is: 'what is left', of: ({ alert }) => alert.remaining },
  daysLeft: { is: 'days until the limit, by the forecast', of: ({ alert }) => alert.daysLeft },
  'previous.level': {
    is: 'the level of the last message: `ok`, `warning` or `critical`',
    of: ({ alert }) => alert.previous?.level,
  },
  'previous.usage': { is: 'the usage then', of: ({ alert }) => alert.previous?.usage },
  since: { is: 'when the alert opened', of: ({ alert }) => alert.since },
  measuredAt: { is: 'when it was measured', of: ({ alert }) => alert.measuredAt },
  lasted: { is: 'how long an alert that is resolved was open: `3 h`', of: ({ alert }) => lastedFor(alert) },
  facts: {
    is: 'a list of what is known, in words: each has a `name` and a `value`',
    of: ({ described }) => described.facts.map(({ name, value }) => ({ name, value })),
  },
  recordCount: { is: 'how many records are at or near the limit', of: ({ alert }) => alert.records?.total },
  records: {
    is: 'a list of some of them',
    of: ({ described }) => (described.records?.rows ?? []).map((row) => scopeOf(RECORD, row)),
  },
  url: { is: 'the page of the account, or the status page', of: ({ described }) => described.url },
  'links.open': { is: 'the page of the alert', of: linkTo('Open alert', 'Open account', 'Open page') },
  'links.reconnect': { is: 'connects the account again, where that helps', of: linkTo(RECONNECT) },
  'links.acknowledge': { is: 'acknowledges the alert; in mails alone', of: linkTo('Acknowledge') },
  'links.silence': { is: 'the form of a silence', of: linkTo('Silence') },
}

const RECORD: Fields<ShownRecord> = {
  id: { is: 'the id of the record', of: ({ id }) => id },
  label: { is: 'its name, where names are kept', of: ({ label }) => label },
  usage: { is: 'its number of associations, or `at its limit`', of: ({ usage }) => usage },
  url: { is: "its page at the provider's", of: ({ url }) => url },
}

/** All that a template may name; each list of fields with what it is of. */
export const TEMPLATE_FIELDS: readonly { of: string; fields: Readonly<Record<string, { is: string }>> }[] = [
  { of: 'the message', fields: MESSAGE },
  { of: '`alert`, and of each of `alerts`', fields: ALERT },
  { of: 'each of `alert.records`', fields: RECORD },
]

/** Fields of a message for templates. Texts from outside are one line without control characters, and not escaped. */
export function messageScope(message: Message, context: ShownMessage['context']): TemplateScope {
  const now = Date.parse(message.timestamp)
  const alerts = inOrder(message).map((alert) =>
    scopeOf(ALERT, { alert, described: describeAlert(alert, now, context.links) }),
  )
  return scopeOf(MESSAGE, { message, context, alerts })
}

function scopeOf<Of>(fields: Fields<Of>, shown: Of): TemplateScope {
  const scope: Record<string, TemplateValue> = {}
  for (const [name, { of }] of Object.entries(fields)) {
    const value = of(shown) ?? null
    const [group = '', inside] = name.split('.')
    scope[group] = inside === undefined ? value : { ...(scope[group] as TemplateScope | undefined), [inside]: value }
  }
  return scope
}

function typeOf({ message }: ShownMessage): string {
  return message.type
}

function onlyAccount({ message: { data } }: ShownMessage): Alert['account'] {
  if (data.account !== undefined) return data.account
  const [first, ...others] = Map.groupBy(data.alerts, ({ account }) => account?.hubId).values()
  return others.length > 0 ? undefined : first?.[0]?.account
}

function domainOf(account: Alert['account']): string | undefined {
  return account === undefined ? undefined : cleanText(account.hubDomain, MOST_WORD)
}

function word(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cleanText(text, MOST_WORD)
}

function linkTo(...names: string[]) {
  return ({ described }: ShownAlert) => described.actions.find(({ name }) => names.includes(name))?.url
}
