import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { DeliveryHead, LoggedAttempt, Replay, WaitingDelivery } from '../../delivery/deliveries.ts'
import { cleanText } from '../../text/clean-text.ts'
import { countOf } from '../../text/format-number.ts'
import { type Html, html } from '../../text/html.ts'
import {
  type AttemptFilter,
  type Carried,
  carriedBy,
  findAttempts,
  receiverStatus,
  receiverText,
} from '../../views/deliveries.ts'
import type { ReceiverShape } from '../../views/shapes/delivery.ts'
import { formTokenField, tokenOfWriter } from '../access/forms.ts'
import { whoOf } from '../access/who.ts'
import { Problem } from '../problem.ts'
import { check, oneOf } from '../query.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { badge, when } from './parts/cells.ts'
import { choice, hidden, select } from './parts/forms.ts'
import { attemptTable, deliveryTable } from './parts/sent.ts'
import { htmlTable, nothing } from './parts/tables.ts'

const ATTEMPTS_A_PAGE = 25
/** Most waiting deliveries, and most that were given up. */
const DELIVERIES_A_PAGE = 10
/** `failed` is a test that did not arrive, and is not tried again; a newer message contains an `overtaken` one. */
const OUTCOMES = ['delivered', 'retry', 'dead', 'failed', 'overtaken'] as const
const HOUR_MS = 3_600_000
/** How far back deliveries that were given up are sent again. They are kept for 30 days. */
const SINCE = {
  '1h': { text: 'hour', ms: HOUR_MS },
  '24h': { text: '24 hours', ms: 24 * HOUR_MS },
  '3d': { text: '3 days', ms: 72 * HOUR_MS },
  '30d': { text: '30 days', ms: 720 * HOUR_MS },
} as const
const SINCE_NAMES = Object.keys(SINCE) as [keyof typeof SINCE]

/** A field that a form sent empty is one that was not chosen. */
const QUERY = z.object({
  receiver: z
    .string('must be given once')
    .max(200, 'is longer than 200 characters')
    .transform((given) => given || undefined)
    .optional(),
  outcome: z.preprocess((given) => (given === '' ? undefined : given), oneOf(OUTCOMES).optional()),
})

/** Attempts, waiting deliveries, those that were given up, and the state of each receiver. */
export async function showDeliveries(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { deliveries, receiverStore, clock } = deps
  const filter = check(QUERY, request.query)
  const [pending, dead, receivers, attempts, waiting, givenUp] = await Promise.all([
    deliveries.countPending(),
    deliveries.countDead(),
    receiverStore.read(),
    findAttempts(deliveries, filter, ATTEMPTS_A_PAGE),
    deliveries.waiting(DELIVERIES_A_PAGE),
    deliveries.givenUp(DELIVERIES_A_PAGE),
  ])
  const ids = [...attempts, ...waiting, ...givenUp].map(({ id }) => id)
  const body = deliveriesPage({
    pending,
    dead,
    waiting,
    givenUp,
    filter,
    carried: await carriedBy(deps, ids),
    receivers: receivers.map(receiverStatus),
    testable: new Set(deps.receivers),
    attempts,
    token: tokenOfWriter(request),
    now: clock.now(),
  })
  return { at: '/deliveries', title: 'Deliveries', body }
}

const name = z.string('must be given').max(200, 'is longer than 200 characters')
const REPLAY = z.union([
  z.object({ delivery: name }),
  z.object({ since: oneOf(SINCE_NAMES), receiver: name.default('') }),
])

export async function replayByForm({ actions, clock }: WebDeps, request: FastifyRequest): Promise<string> {
  const given = check(REPLAY, request.body ?? {})
  const wanted: Replay =
    'delivery' in given
      ? { ids: [given.delivery] }
      : { since: clock.now() - SINCE[given.since].ms, receiver: given.receiver || undefined }
  const outcome = await actions.replay(wanted, whoOf(request))
  if (outcome.is === 'unknown-receiver') throw new Problem(404, outcome.why)
  return `/deliveries?done=replayed&count=${outcome.replayed}`
}

export async function testReceiverByForm({ actions }: WebDeps, request: FastifyRequest): Promise<string> {
  const { receiver } = check(z.object({ receiver: name }), request.body ?? {})
  const tested = await actions.testReceiver(receiver, whoOf(request))
  if (tested === undefined) throw new Problem(404, `There is no receiver ${receiver.slice(0, 60)} here.`)
  return `/deliveries?done=${tested.outcome.outcome === 'delivered' ? 'tested' : 'test-failed'}#attempts`
}

interface DeliveriesPage {
  pending: number
  /** Given up, and still to be replayed. */
  dead: number
  receivers: readonly ReceiverShape[]
  /** Receivers of the daemon that answers: they can be tried out from here. */
  testable: ReadonlySet<string>
  waiting: readonly WaitingDelivery[]
  givenUp: readonly DeliveryHead[]
  attempts: readonly LoggedAttempt[]
  /** By the deliveries' ids. */
  carried: ReadonlyMap<string, Carried>
  filter: AttemptFilter
  /** Token of the forms, for tokens with `write`. */
  token: string | undefined
  now: number
}

function deliveriesPage(page: DeliveriesPage): Html {
  const { pending, attempts, carried, filter, now } = page
  const isNarrowed = filter.receiver !== undefined || filter.outcome !== undefined
  return html`<p>${pending === 0 ? 'Nothing waits to be delivered.' : `${countOf(pending, 'delivery', 'deliveries')} on the way.`}</p>
${receiverTable(page)}
${waitingTable(page)}
${givenUpTable(page)}
<h2 id="attempts">Newest attempts</h2>
${filterForm(page)}
${attempts.length === 0 ? nothing(isNarrowed ? 'No matching attempts.' : 'Nothing has been sent yet.') : attemptTable(attempts, now, carried)}`
}

const LOOK: Record<ReceiverShape['state'], string> = {
  delivers: 'good',
  failing: 'warning',
  disabled: 'critical',
  new: 'off',
}

function receiverTable({ receivers, testable, token }: DeliveriesPage): Html | undefined {
  if (receivers.length === 0) return undefined
  const mayTest = token !== undefined && receivers.some(({ receiver }) => testable.has(receiver))
  return html`<h2>Receivers</h2>
${htmlTable(
  'State of the receivers',
  ['Receiver', 'State', 'Last', mayTest && 'To do'],
  receivers.map((status) => [
    status.receiver,
    badge(LOOK[status.state], status.state),
    receiverText(status),
    mayTest && (testable.has(status.receiver) ? testForm(status.receiver, token) : ''),
  ]),
)}`
}

function testForm(receiver: string, token: string): Html {
  return html`<form method="post" action="/deliveries/test">${formTokenField(token)}${hidden('receiver', receiver)}<button class="small">Send a test<span class="unseen"> to ${receiver}</span></button></form>`
}

function waitingTable({ waiting, pending, carried, now }: DeliveriesPage): Html | undefined {
  if (waiting.length === 0) return undefined
  return html`<h2>Waiting</h2>
${deliveryTable(
  'Deliveries on the way',
  'Next attempt',
  waiting.map(({ id, nextAt, receiver, type, attempts, reason }) => ({
    at: when(nextAt, now),
    id,
    receiver,
    type,
    outcome: attempts === 0 ? 'not tried yet' : `${countOf(attempts, 'attempt')} failed`,
    details: [['Last reason', cleanText(reason, 300) || undefined]],
  })),
  carried,
)}
${andMore(pending - waiting.length)}`
}

function givenUpTable({ givenUp, dead, carried, receivers, filter, token, now }: DeliveriesPage): Html | undefined {
  if (dead === 0) return undefined
  const names = receivers.map(({ receiver }) => receiver)
  return html`<h2>Given up</h2>
<p class="soft">${countOf(dead, 'delivery was', 'deliveries were')} given up in the last 30 days. Sent again, each goes out under its own id, and is tried for another three days.</p>
${token === undefined ? undefined : replayForm(names, filter.receiver, token)}
${deliveryTable(
  'Deliveries that were given up',
  'Given up',
  givenUp.map(({ id, endedAt, receiver, type, attempts, reason }) => ({
    at: when(endedAt, now),
    id,
    receiver,
    type,
    outcome: `${countOf(attempts, 'attempt')} failed`,
    details: [['Reason', cleanText(reason, 300) || undefined]],
    form: token === undefined ? undefined : replayOne(id, receiver, token),
  })),
  carried,
)}
${andMore(dead - givenUp.length)}`
}

function andMore(count: number): Html | undefined {
  return count > 0 ? html`<p class="soft">And ${count} more.</p>` : undefined
}

function replayOne(id: string, receiver: string, token: string): Html {
  return html`<form method="post" action="/deliveries/replay">${formTokenField(token)}${hidden('delivery', id)}<button class="small">Replay<span class="unseen"> ${id} to ${receiver}</span></button></form>`
}

function replayForm(receivers: readonly string[], chosen: string | undefined, token: string): Html {
  return html`<form method="post" action="/deliveries/replay" class="search">${formTokenField(token)}
${select(choice('receiver', 'Receiver', 'every receiver', receivers), chosen)}
${select({ name: 'since', label: 'Given up in the last', of: SINCE_NAMES.map((one) => [one, SINCE[one].text] as const) }, '24h')}
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
