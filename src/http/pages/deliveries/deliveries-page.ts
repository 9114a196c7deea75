import type { DeliveryHead, WaitingDelivery } from '../../../delivery/deliveries.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import {
  type AttemptFilter,
  type Carried,
  type ReceiverStatus,
  receiverText,
  type TimedAttempt,
} from '../../../views/deliveries.ts'
import { formTokenField } from '../../access/form-token.ts'
import { attemptTable } from '../parts/attempt-table.ts'
import { carriedAlerts } from '../parts/carried-alerts.ts'
import { choice, select } from '../parts/filter-form.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { SINCE } from './since.ts'

export interface DeliveriesPage {
  pending: number
  /** Given up, and still to be replayed. */
  dead: number
  receivers: readonly ReceiverStatus[]
  /** Those of the daemon that answers: they can be tried out from here. */
  testable: ReadonlySet<string>
  waiting: readonly WaitingDelivery[]
  givenUp: readonly DeliveryHead[]
  attempts: readonly TimedAttempt[]
  /** By the deliveries' ids. */
  carried: ReadonlyMap<string, Carried>
  filter: AttemptFilter
  /** Of the forms, for tokens with `write`. */
  token: string | undefined
  now: number
}

export function deliveriesPage(page: DeliveriesPage): Html {
  const { pending, attempts, carried, filter, now } = page
  const isNarrowed = filter.receiver !== undefined || filter.outcome !== undefined
  return html`<p>${pending === 0 ? 'Nothing waits to be delivered.' : `${countOf(pending, 'delivery', 'deliveries')} on the way.`}</p>
${receiverTable(page)}
${waitingTable(page)}
${givenUpTable(page)}
<h2 id="attempts">Newest attempts</h2>
${filterForm(page)}
${attempts.length === 0 ? nothing(isNarrowed ? 'No attempt fits.' : 'Nothing has been sent yet.') : attemptTable(attempts, now, carried)}`
}

const LOOK: Record<ReceiverStatus['state'], string> = {
  delivers: 'good',
  failing: 'warning',
  disabled: 'critical',
  new: 'off',
}

function receiverTable({ receivers, testable, token }: DeliveriesPage): Html | undefined {
  if (receivers.length === 0) return undefined
  const mayTest = token !== undefined && receivers.some(({ receiver }) => testable.has(receiver))
  return html`<h2>Receivers</h2>
${table(
  'State of the receivers',
  [{ title: 'Receiver' }, { title: 'State' }, { title: 'Last' }, ...(mayTest ? [{ title: 'To do' }] : [])],
  receivers.map((status) => [
    status.receiver,
    html`<span class="badge ${LOOK[status.state]}">${status.state}</span>`,
    receiverText(status),
    ...(mayTest ? [testable.has(status.receiver) ? testForm(status.receiver, token) : ''] : []),
  ]),
)}`
}

function testForm(receiver: string, token: string): Html {
  return html`<form method="post" action="/deliveries/test">${formTokenField(token)}<input type="hidden" name="receiver" value="${receiver}"><button class="small">Send a test<span class="unseen"> to ${receiver}</span></button></form>`
}

function waitingTable({ waiting, pending, carried, now }: DeliveriesPage): Html | undefined {
  if (waiting.length === 0) return undefined
  return html`<h2>Waiting</h2>
${table(
  'Deliveries on the way',
  [
    { title: 'Next attempt' },
    { title: 'Receiver' },
    { title: 'Message' },
    { title: 'Failed attempts', number: true },
    { title: 'Last reason' },
  ],
  waiting.map(({ id, nextAt, receiver, type, attempts, reason }) => [
    when(nextAt, now),
    receiver,
    html`<span title="${id}">${carriedAlerts(type, carried.get(id))}</span>`,
    String(attempts),
    cleanText(reason, 300),
  ]),
)}
${andMore(pending - waiting.length)}`
}

function givenUpTable({ givenUp, dead, carried, receivers, filter, token, now }: DeliveriesPage): Html | undefined {
  if (dead === 0) return undefined
  const names = receivers.map(({ receiver }) => receiver)
  return html`<h2>Given up</h2>
<p class="soft">${countOf(dead, 'delivery was', 'deliveries were')} given up in the last 30 days. Sent again, each goes out under its own id, and is tried for another three days.</p>
${token === undefined ? undefined : replayForm(names, filter.receiver, token)}
${table(
  'Deliveries that were given up',
  [
    { title: 'Given up' },
    { title: 'Receiver' },
    { title: 'Message' },
    { title: 'Attempts', number: true },
    { title: 'Reason' },
    ...(token === undefined ? [] : [{ title: 'To do' }]),
  ],
  givenUp.map(({ id, endedAt, receiver, type, attempts, reason }) => [
    when(endedAt, now),
    receiver,
    html`<span title="${id}">${carriedAlerts(type, carried.get(id))}</span>`,
    String(attempts),
    cleanText(reason, 300),
    ...(token === undefined ? [] : [replayOne(id, receiver, token)]),
  ]),
)}
${andMore(dead - givenUp.length)}`
}

function andMore(count: number): Html | undefined {
  return count > 0 ? html`<p class="soft">And ${count} more.</p>` : undefined
}

function replayOne(id: string, receiver: string, token: string): Html {
  return html`<form method="post" action="/deliveries/replay">${formTokenField(token)}<input type="hidden" name="delivery" value="${id}"><button class="small">Replay<span class="unseen"> ${id} to ${receiver}</span></button></form>`
}

function replayForm(receivers: readonly string[], chosen: string | undefined, token: string): Html {
  return html`<form method="post" action="/deliveries/replay" class="search">${formTokenField(token)}
${select(choice('receiver', 'Receiver', 'every receiver', receivers), chosen)}
${select({ name: 'since', label: 'Given up in the last', of: SINCE.map(({ value, text }) => [value, text] as const) }, '24h')}
<button>Replay all of them</button>
</form>`
}

function filterForm({ receivers, filter }: DeliveriesPage): Html {
  const names = new Set([
    ...receivers.map(({ receiver }) => receiver),
    ...(filter.receiver === undefined ? [] : [filter.receiver]),
  ])
  return html`<form action="/deliveries#attempts" class="search" role="search">
${select(choice('receiver', 'Receiver', 'every receiver', [...names]), filter.receiver)}
${select(choice('outcome', 'Outcome', 'every outcome', OUTCOMES), filter.outcome)}
<button>Show</button>
</form>`
}

/** `failed` is a test that did not arrive: it is not tried again. */
export const OUTCOMES = ['delivered', 'retry', 'dead', 'failed'] as const
