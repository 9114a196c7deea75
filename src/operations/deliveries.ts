import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod'
import { readOpenIds } from '../alerts/open-alerts.ts'
import { momentCell } from '../text/cells.ts'
import { countOf } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import type { Fact } from '../text/shown.ts'
import { receiverStatus } from '../views/deliveries.ts'
import { readOutboxBalance } from '../views/outbox-balance.ts'
import { AttemptShape, OutboxProofShape, OutboxShape, ReceiverShape, ReplayedShape } from '../views/shapes/delivery.ts'
import { count } from '../views/shapes/words.ts'
import { proveOutbox } from '../views/verify-outbox.ts'
import { cursorField, limitField, momentField, textField } from './input.ts'
import { operation, pageShape } from './operation.ts'
import { wrongField } from './refusal.ts'

export const listDeliveries = operation({
  id: 'listDeliveries',
  method: 'GET',
  path: '/deliveries',
  summary: 'attempts to deliver messages',
  input: z.strictObject({
    limit: limitField(),
    // Id of an entry of the log in Redis.
    after: cursorField(/^\d{1,15}-\d{1,15}$/),
  }),
  output: pageShape(AttemptShape, 'Newest first; the last 10,000 are kept.').extend({
    pending: count('Deliveries that wait for their first or next attempt.'),
    dead: count('Deliveries that were given up and can be sent again.'),
    receivers: z.array(ReceiverShape),
  }),
  answers: { 200: 'A page of attempts, and the state of deliveries now.' },
  example: { query: { limit: '2' } },
  run: async ({ deliveries, receiverStore }, { input: { limit, after } }) => {
    const [pending, dead, attempts, receivers] = await Promise.all([
      deliveries.countPending(),
      deliveries.countDead(),
      deliveries.logFrom(after, limit + 1),
      receiverStore.read(),
    ])
    const page = attempts.slice(0, limit)
    const next = attempts.length > limit ? page.at(-1)?.entry : undefined
    const items = page.map(({ attempt }) => attempt)
    return { pending, dead, receivers: receivers.map(receiverStatus), items, ...(next !== undefined && { next }) }
  },
})

export const replayDeliveries = operation({
  id: 'replayDeliveries',
  method: 'POST',
  path: '/deliveries/replay',
  summary: 'send again what was given up since a moment, each under its own id, for another three days',
  description: 'Nothing goes to a receiver that is switched off.',
  input: z.strictObject({
    since: momentField('from when on'),
    receiver: textField('only what this receiver was to get').optional(),
  }),
  output: ReplayedShape,
  example: { body: { since: '2026-11-21T00:00:00Z' } },
  command: {
    name: 'outbox replay',
    examples: ['--since 2h --receiver ops-hook'],
    confirm: { question: 'Receivers get the messages again that were given up.', answer: 'yes' },
    busy: 'deliveries read',
  },
  run: async ({ actions }, { input: { since: from, receiver }, who, now }) => {
    const since = from(now)
    if (since > now) throw wrongField('since', 'lies in the future')
    const outcome = await actions.replay({ since, receiver }, who)
    if (outcome.is === 'unknown-receiver') throw wrongField('receiver', outcome.why)
    return outcome
  },
  json: ({ replayed, disabled }) => ({ replayed, disabled }),
  table: ({ replayed, disabled }, { input: { since, receiver }, now }) => {
    const whose = receiver === undefined ? 'delivery' : `delivery to ${receiver}`
    const none = replayed + disabled.length > 0 ? '' : `: no ${whose} was given up since ${formatMoment(since(now))}`
    const off = 'is switched off, so nothing goes its way: enable it first: plimsoll alerts test'
    return [
      `${countOf(replayed, 'delivery', 'deliveries')} on the way again${none}`,
      ...disabled.map((name) => `${name} ${off} ${name}`),
    ]
  },
})

export const showOutbox = operation({
  id: 'showOutbox',
  method: 'GET',
  path: '/outbox',
  summary: 'whether any alert was lost',
  description: 'From counters; `plimsoll outbox verify` checks each transition.',
  input: z.strictObject({}),
  output: OutboxShape,
  answers: { 200: 'How many alerts are on their way.' },
  run: async (deps, { now }) => readOutboxBalance(deps, now),
})

/** Long enough for deliveries on the move to arrive. */
const BETWEEN_LOOKS_MS = 300
/** Named one by one. */
const MOST_NAMED = 50

export const verifyOutbox = operation({
  id: 'verifyOutbox',
  method: 'GET',
  path: '/outbox/verification',
  summary: 'whether every transition that was committed is delivered, on its way, given up or withheld',
  description: 'Every open alert is compared with what its receivers were sent.',
  input: z.strictObject({}),
  output: OutboxProofShape,
  command: { name: 'outbox verify', busy: 'comparing alerts' },
  run: ({ store, keys, registry, clock }) =>
    proveOutbox({
      store,
      keys,
      now: () => clock.now(),
      pause: () => pause(BETWEEN_LOOKS_MS),
      readOpen: async () => readOpenIds(store, keys, await registry.alerting()),
    }),
  table: (proof) => [{ facts: proofFacts(proof) }],
  exitCode: ({ balanced }) => (balanced ? 0 : 1),
})

function proofFacts(proof: OutboxProofShape): Fact[] {
  const { open, waits, inOutbox, waiting, deliveries, dead, balanced, oldestPendingAt, missing, unresolved } = proof
  const places = [
    [inOutbox, 'new'],
    [waiting, 'waiting'],
    [deliveries, 'in messages'],
  ] as const
  const onTheirWay = places.flatMap(([number, place]) => (number > 0 ? [`${number} ${place}`] : []))
  const each = (name: string, texts: readonly string[]) =>
    texts.slice(0, MOST_NAMED).map((value): Fact => [name, value])
  return [
    ['open', countOf(open, 'alert')],
    ['on their way', onTheirWay.join(', ')],
    ['oldest pending', momentCell(oldestPendingAt)],
    ['dead', dead > 0 ? `${countOf(dead, 'message')}: ${DEAD_WAY_OUT}` : ''],
    ['balanced', balanced ? 'yes: every receiver knows, or waits' : `no: ${MISSING_WAY_OUT}`],
    ...each('missing', missing.map(missingText)),
    ...each('unresolved', unresolved.map(unresolvedText)),
    ...each('waits', waits.map(waitsText)),
    ['more', [waits, missing, unresolved].some(({ length }) => length > MOST_NAMED) ? '--json has all of them' : ''],
  ]
}

const DEAD_WAY_OUT = 'plimsoll alerts log shows why; plimsoll outbox replay --since 3d sends them again'
const MISSING_WAY_OUT =
  'was Redis restored, or did it lose writes? plimsoll alerts list shows what still fires: it is sent again after alerts.repeatEvery'

type OfReceiver = OutboxProofShape['missing'][number]

function missingText({ receiver, alert }: OfReceiver): string {
  return `${receiver} was sent alert ${alert}, which is open, and does not know of it`
}

function unresolvedText({ receiver, alert }: OfReceiver): string {
  return `${receiver} was sent alert ${alert} as firing; it is over, and no end is on its way`
}

function waitsText({ receiver, alert, why }: OutboxProofShape['waits'][number]): string {
  return `${receiver} does not know of alert ${alert} yet: ${why}`
}
