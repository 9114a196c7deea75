import { type Alert, alertOfTransition, type Message } from '../../../alerts/alert.ts'
import type { GroupBy } from '../../../alerts/deps.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { describeAlert } from '../../describe/describe-alert.ts'
import type { BodyContext } from '../receiver-kind.ts'

type Pairs = Record<string, string>

/** Go's zero time: not over yet. */
const NOT_OVER = '0001-01-01T00:00:00Z'

/**
 * Version 4 of what Alertmanager posts to webhooks, so that every program that takes that takes this. What is grouped by has the name
 * of the label that holds it.
 */
export function alertmanagerBody({ type, timestamp, data }: Message, context: BodyContext): string {
  const alerts = data.alerts.map((alert) => alertOf(alert, timestamp, context))
  const commonLabels = inCommon(alerts.map(({ labels }) => labels))
  return JSON.stringify({
    receiver: context.receiver,
    status: type === 'alert.firing' || alerts.some(({ status }) => status === 'firing') ? 'firing' : 'resolved',
    alerts,
    groupLabels: type === 'alert.digest' ? {} : only(commonLabels, groupedBy(data.groupKey, context).map(labelOf)),
    commonLabels,
    commonAnnotations: inCommon(alerts.map(({ annotations }) => annotations)),
    externalURL: context.home,
    version: '4',
    groupKey: data.groupKey,
    truncatedAlerts: data.truncated,
  })
}

function alertOf(alert: Alert, timestamp: string, { home }: BodyContext) {
  const { subject, headline, happened, url } = describeAlert(alert, Date.parse(timestamp))
  // A test is over as soon as it is sent: it would stay open at the far side, for nothing ever resolves it.
  const isOver = alert.status === 'resolved' || alert.kind === 'test'
  return {
    status: isOver ? ('resolved' as const) : ('firing' as const),
    labels: labelsOf(alert),
    annotations: {
      summary: alert.kind === 'test' ? `Plimsoll: ${headline}` : `${subject}: ${headline}`,
      description: happened,
    },
    startsAt: alert.since,
    endsAt: isOver ? alert.measuredAt : NOT_OVER,
    generatorURL: url ?? home,
    fingerprint: alertOfTransition(alert.id),
  }
}

/** Few and the same from message to message: programs that count or route by labels must not meet a number in them. */
function labelsOf({ kind, level, rule, account, series }: Alert): Pairs {
  return present({
    alertname: rule,
    severity: level,
    kind,
    account: account === undefined ? undefined : String(account.hubId),
    domain: account === undefined ? undefined : cleanText(account.hubDomain),
    series: series?.metric,
    objectType: cleaned(series?.objectTypeId),
    from: cleaned(series?.from),
    to: cleaned(series?.to),
  })
}

/** A mass is grouped by its rule, whatever else is. */
function groupedBy(groupKey: string, { groupBy }: BodyContext): readonly GroupBy[] {
  return groupKey.startsWith('rule=') ? ['rule', ...groupBy] : groupBy
}

function labelOf(by: GroupBy): string {
  switch (by) {
    case 'rule':
      return 'alertname'
    case 'level':
      return 'severity'
    case 'account':
    case 'kind':
      return by
  }
}

function cleaned(id: string | undefined): string | undefined {
  return id === undefined ? undefined : cleanText(id, 40)
}

/** An empty label is, to Prometheus, one that is not there. */
function present(pairs: Record<string, string | undefined>): Pairs {
  return Object.fromEntries(
    Object.entries(pairs).filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== ''),
  )
}

function inCommon([first = {}, ...others]: readonly Pairs[]): Pairs {
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((other) => other[name] === value)),
  )
}

function only(pairs: Pairs, names: readonly string[]): Pairs {
  return Object.fromEntries(Object.entries(pairs).filter(([name]) => names.includes(name)))
}
