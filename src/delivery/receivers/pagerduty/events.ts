import { type Alert, alertOf, inOrder, type Message } from '../../../alerts/alert.ts'
import { shorten } from '../../../text/clean-text.ts'
import { describeAlert } from '../../describe/describe-alert.ts'
import type { TemplateTexts } from '../../templates/message-template.ts'
import type { BodyContext } from '../receiver-kind.ts'

/** PagerDuty cuts what is longer. */
const MOST_SUMMARY = 1_024
/** Longest fact: all together stay far below the 512 kB of an event. */
export const MOST_DETAIL = 2_000
const MOST_RECORDS = 20

/** The events of one alert, to be sent one after the other. */
interface AlertEvents {
  /** The alert's transition. */
  transition: string
  events: object[]
}

/** Texts of a message with one alert. */
type TextsOf = (message: Message) => TemplateTexts

/** One incident per alert: `dedup_key` is its own id, which it keeps from opening to closing. */
export function eventsOf(message: Message, context: BodyContext, textsOf: TextsOf = () => ({})): AlertEvents[] {
  return inOrder(message).map((alert) => {
    const key = { dedup_key: shorten(alertOf(alert), 255) }
    if (message.type === 'alert.acknowledged')
      return { transition: alert.id, events: [{ event_action: 'acknowledge', ...key }] }
    const resolve = { event_action: 'resolve', ...key }
    const texts = textsOf({ ...message, data: { ...message.data, truncated: 0, alerts: [alert] } })
    const trigger = { event_action: 'trigger', ...key, ...incidentOf(alert, message, context, texts) }
    if (alert.status === 'resolved') return { transition: alert.id, events: [resolve] }
    return { transition: alert.id, events: isMoment(alert) ? [trigger, resolve] : [trigger] }
  })
}

/** Nothing would ever resolve it. */
function isMoment({ kind }: Alert): boolean {
  return kind === 'test' || kind === 'limit-changed'
}

function incidentOf(alert: Alert, { timestamp }: Message, { home, links }: BodyContext, texts: TemplateTexts) {
  const { kind, level, measuredAt, rule, series } = alert
  const {
    subject,
    headline,
    details: told,
    facts,
    records,
    actions,
    url,
  } = describeAlert(alert, Date.parse(timestamp), links)
  const rows = records?.rows.slice(0, MOST_RECORDS) ?? []
  const details: [string, string][] = [
    ['What', texts.body ?? told],
    ...facts.map(({ name, value }): [string, string] => [name, value]),
    ...(records === undefined ? [] : [[`Records (${records.note})`, rows.map(rowText).join('\n')] as [string, string]]),
  ]
  return {
    payload: {
      summary: shorten(texts.title ?? `${subject}: ${headline}`, MOST_SUMMARY),
      source: subject,
      severity: isMoment(alert) ? 'info' : level,
      timestamp: measuredAt,
      ...(series !== undefined && { component: series.metric }),
      group: rule,
      class: kind,
      custom_details: Object.fromEntries(details.map(([name, value]) => [name, shorten(value, MOST_DETAIL)])),
    },
    client: 'Plimsoll',
    client_url: url ?? home,
    links: actions.map(({ name, url: href }) => ({ href, text: name })),
  }
}

function rowText({ label, id, usage }: { label?: string; id: string; usage: string }): string {
  return `${label === undefined ? '' : `${label} `}#${id} ${usage}`
}
