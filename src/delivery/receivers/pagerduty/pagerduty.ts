import * as z from 'zod'
import { secret, webAddress } from '../../../../config/schema/secrets.ts'
import { type Alert, alertOf, hasEnd, inOrder, type Message } from '../../../alerts/alert.ts'
import { chunksOf } from '../../../runtime/chunks-of.ts'
import { shorten } from '../../../text/clean-text.ts'
import { describeAlert } from '../../describe/describe-alert.ts'
import type { AttemptOutcome, OutgoingDelivery } from '../../receiver.ts'
import { messageTemplate, type TemplateTexts, withFault } from '../../templates/message-template.ts'
import { insecureHttp, posted, templates } from '../common-settings.ts'
import { createPost, postWayOut, readService } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { BodyContext, ReceiverKind, SettingsOf, ShownReceiver } from '../receiver-kind.ts'

/** PagerDuty cuts what is longer. */
const MOST_SUMMARY = 1_024
/** Longest fact: all together stay far below the 512 kB of an event. */
const MOST_DETAIL = 2_000
const MOST_RECORDS = 20
/** Timeout for all events of a message together, as for one mail: half a claim is 30 s. */
const TIMEOUT_MS = 25_000
/** Events of one message under way at a time. Each is about another alert, so their order does not matter. */
const AT_A_TIME = 8
/** Messages of which some events were taken, and some not yet. Of more, what was taken is forgotten, and sent again. */
const MOST_HALF_SENT = 1_000

const pagerdutySettings = posted(
  z.strictObject({
    type: z.literal('pagerduty').describe('One incident per alert, by the Events API v2 of PagerDuty.'),
    routingKey: secret().describe('The integration key of a service (Events API v2).'),
    url: webAddress()
      .prefault('https://events.pagerduty.com/v2/enqueue')
      .describe('Where events are posted to. For the EU: https://events.eu.pagerduty.com/v2/enqueue.'),
    template: templates('title', 'body'),
    insecure: insecureHttp(),
  }),
)

type PagerDutySettings = SettingsOf<typeof pagerdutySettings>

export const pagerduty = {
  settings: pagerdutySettings,
  create: createPagerDuty,
  perAlert: true,
  takes: () => ['alerts', 'acknowledgements'],
  reach: reachAddress,
  wayOut: (place, answer) =>
    answer === 400 ? `check ${place}.routingKey: PagerDuty does not take it` : postWayOut(place, answer, 'routingKey'),
} satisfies ReceiverKind<PagerDutySettings>

function createPagerDuty({ url, routingKey, template }: PagerDutySettings, context: BodyContext): ShownReceiver {
  const { post, ...asIs } = createPost(
    { name: context.receiver, proxyFor: context.proxyFor, url, repeated: [routingKey], timeoutMs: TIMEOUT_MS },
    readEvents,
  )
  const textsOf = messageTemplate(template, { mostBytes: MOST_DETAIL })
  const taken = new Map<string, Set<string>>()
  const eventsFor = (message: Message) => {
    let fault: string | undefined
    const events = eventsOf(message, context, (one) => {
      const texts = textsOf(one, context)
      fault ??= texts.fault
      return texts
    })
    return { events, fault }
  }

  async function send({ id, message, now }: OutgoingDelivery, signal: AbortSignal): Promise<AttemptOutcome> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)])
    // A retry goes on where the last attempt stopped: from the beginning a limit of calls would let it never end.
    const done = taken.get(id) ?? new Set()
    const { events, fault } = eventsFor(message)
    const left = events.filter(({ transition }) => !done.has(transition))
    let refused: AttemptOutcome | undefined
    const sendEvents = async ({ transition, events }: (typeof left)[number]): Promise<AttemptOutcome> => {
      for (const event of events) {
        const body = JSON.stringify({ routing_key: routingKey.reveal(), ...event })
        const outcome = await post({ body, now, signal: deadline })
        if (outcome.outcome !== 'delivered') return outcome
      }
      done.add(transition)
      return { outcome: 'delivered', answer: 202 }
    }
    for (const some of chunksOf(left, AT_A_TIME)) {
      const outcomes = await Promise.all(some.map(sendEvents))
      const failed = outcomes.find(({ outcome }) => outcome === 'disable' || outcome === 'retry')
      refused ??= outcomes.find(({ outcome }) => outcome === 'refuse')
      if (failed === undefined) continue
      if (taken.size >= MOST_HALF_SENT && !taken.has(id)) taken.clear()
      if (done.size > 0) taken.set(id, done)
      return failed
    }
    taken.delete(id)
    return refused ?? withFault({ outcome: 'delivered', answer: 202 }, fault)
  }

  function show(message: Message) {
    const { events, fault } = eventsFor(message)
    return {
      text: events.flatMap((one) => one.events.map((event) => JSON.stringify(event, null, 2))).join('\n'),
      fault,
    }
  }

  return { name: context.receiver, type: 'pagerduty', ...asIs, send, show }
}

/**
 * PagerDuty refuses an event with 400, and what it says of a wrong key is about every event. Any other refusal may be that of
 * a proxy on the way, which must not switch off who is to be woken.
 */
const readEvents = readService(
  { status: 400, says: /routing.?key/i, is: 'final' },
  { status: 400, says: /./, is: 'message' },
  { status: 413, is: 'message' },
)

/** The events of one alert, to be sent one after the other. */
interface AlertEvents {
  /** The alert's transition. */
  transition: string
  events: object[]
}

/** One incident per alert: `dedup_key` is its own id, which it keeps from opening to closing. */
function eventsOf(message: Message, context: BodyContext, textsOf: (message: Message) => TemplateTexts): AlertEvents[] {
  return inOrder(message).map((alert) => {
    const key = { dedup_key: shorten(alertOf(alert), 255) }
    if (message.type === 'alert.acknowledged')
      return { transition: alert.id, events: [{ event_action: 'acknowledge', ...key }] }
    const resolve = { event_action: 'resolve', ...key }
    const texts = textsOf({ ...message, data: { ...message.data, truncated: 0, alerts: [alert] } })
    const trigger = { event_action: 'trigger', ...key, ...incidentOf(alert, message, context, texts) }
    if (alert.status === 'resolved') return { transition: alert.id, events: [resolve] }
    // Nothing else would ever resolve a moment.
    return { transition: alert.id, events: hasEnd(alert) ? [trigger] : [trigger, resolve] }
  })
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
      severity: hasEnd(alert) ? level : 'info',
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
