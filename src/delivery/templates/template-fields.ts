import { type Alert, alertOf, inOrder, type Message } from '../../alerts/alert.ts'
import { cleanText } from '../../text/clean-text.ts'
import { describeAlert, lastedFor, percentOf } from '../describe/describe-alert.ts'
import { subjectFor } from '../describe/for-customer.ts'
import { type MailLinks, RECONNECT } from '../describe/mail-links.ts'
import { outlineText } from '../describe/outline.ts'
import { badgeOfMessage } from '../describe/subject.ts'
import type { BodyContext } from '../receivers/receiver-kind.ts'
import type { TemplateScope, TemplateValue } from './liquid.ts'

/** Longest text of a field. */
const MOST_TEXT = 20_000
const MOST_WORD = 120

/**
 * Fields of a message for templates, each there for every message: one without a value is null. Texts from outside are one line
 * without control characters, and not escaped.
 */
export function messageScope(message: Message, context: Omit<BodyContext, 'groupBy'>): TemplateScope {
  const { type, timestamp, data } = message
  const { receiver, home, links = {} } = context
  const alerts = inOrder(message).map((alert) => alertScope(alert, Date.parse(timestamp), links))
  return filled({
    type,
    badge: badgeOfMessage(message),
    subject: subjectFor(message, links),
    text: outlineText(message, links, home, (text) => text.length < MOST_TEXT),
    time: timestamp,
    receiver,
    home: home || undefined,
    count: data.alerts.length + data.truncated,
    truncated: data.truncated,
    account: accountScope(data.account ?? onlyAccount(data.alerts)),
    acknowledged: filled({ by: word(data.acknowledged?.by), comment: word(data.acknowledged?.comment) }),
    alert: alerts[0],
    alerts,
  })
}

function alertScope(alert: Alert, now: number, links: MailLinks): TemplateScope {
  const { kind, status, level, reason, rule, cause, account, series, previous, records } = alert
  const described = describeAlert(alert, now, links)
  const { badge, subject, headline, happened, url, actions } = described
  const linkTo = (...names: string[]) => actions.find(({ name }) => names.includes(name))?.url
  const rows = described.records?.rows ?? []
  return filled({
    id: alertOf(alert),
    kind,
    status,
    level,
    badge,
    reason,
    rule: word(rule),
    cause,
    subject,
    headline,
    happened,
    account: accountScope(account),
    series: filled({
      metric: series?.metric,
      objectTypeId: word(series?.objectTypeId),
      label: word(series?.label),
      from: word(series?.from),
      to: word(series?.to),
    }),
    usage: alert.usage,
    limit: alert.limit,
    percent: percentOf(alert),
    remaining: alert.remaining,
    daysLeft: alert.daysLeft,
    previous: filled({ level: previous?.level, usage: previous?.usage }),
    since: alert.since,
    measuredAt: alert.measuredAt,
    lasted: lastedFor(alert),
    facts: described.facts.map(({ name, value }) => ({ name, value })),
    recordCount: records?.total,
    records: rows.map(({ id, label, usage, url: page }) => filled({ id, label, usage, url: page })),
    url,
    links: filled({
      open: linkTo('Open alert', 'Open account', 'Open page'),
      reconnect: linkTo(RECONNECT),
      acknowledge: linkTo('Acknowledge'),
      silence: linkTo('Silence'),
    }),
  })
}

/** A name that is not there is a fault of the template. */
function filled(fields: Readonly<Record<string, TemplateValue | undefined>>): TemplateScope {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, value ?? null]))
}

function accountScope(account: Alert['account']): TemplateScope {
  return filled({ id: account?.hubId, domain: word(account?.hubDomain) })
}

function onlyAccount(alerts: readonly Alert[]): Alert['account'] {
  const [first, ...others] = Map.groupBy(alerts, ({ account }) => account?.hubId).values()
  return others.length > 0 ? undefined : first?.[0]?.account
}

function word(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cleanText(text, MOST_WORD)
}
