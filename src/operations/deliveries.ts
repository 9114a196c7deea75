import { setTimeout as pause } from 'node:timers/promises'
import * as z from 'zod'
import { alertTitle } from '../alerts/alert-title.ts'
import { readOpenIds } from '../alerts/open-alerts.ts'
import { momentCell } from '../text/cells.ts'
import { cleanText } from '../text/clean-text.ts'
import { named, number, prose, state, whole } from '../text/columns.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { formatMoment } from '../text/format-time.ts'
import type { Cell, Fact, Shown } from '../text/shown.ts'
import { accountText } from '../views/alert-texts.ts'
import { type Carried, carriedBy, receiverStatus } from '../views/deliveries.ts'
import { readOutboxBalance } from '../views/outbox-balance.ts'
import { AttemptShape, OutboxProofShape, OutboxShape, ReceiverShape, ReplayedShape } from '../views/shapes/delivery.ts'
import { count } from '../views/shapes/words.ts'
import { proveOutbox } from '../views/verify-outbox.ts'
import { choiceField, cursorField, flagField, limitField, momentField, textField } from './input.ts'
import { operation, pageJson, pageShape } from './operation.ts'
import { wrongField } from './refusal.ts'
import { pageOfList } from './searches.ts'

/** `failed` is a test that did not arrive, and is not tried again; a newer message contains an `overtaken` one. */
const OUTCOMES = ['delivered', 'retry', 'dead', 'failed', 'overtaken'] as const
/** Outcomes as people read them. */
export const OUTCOME_WORDS: Readonly<Record<string, string>> = {
  retry: 'waiting',
  dead: 'gave up',
  failed: 'test failed',
  overtaken: 'replaced',
}
/** Attempts that the log keeps at most. */
const ALL_ATTEMPTS = 10_000

export const listDeliveries = operation({
  id: 'listDeliveries',
  method: 'GET',
  path: '/deliveries',
  summary: 'attempts to deliver messages',
  input: z.strictObject({
    limit: limitField(),
    // Id of an entry of the log in Redis.
    after: cursorField(/^\d{1,15}-\d{1,15}$/),
    receiver: textField('only attempts at this receiver').optional(),
    outcome: choiceField(OUTCOMES, 'only attempts with this outcome').optional(),
    last: flagField('only the last attempt at each message', { 'x-option': false }),
  }),
  output: pageShape(AttemptShape, 'Newest first; the last 10,000 are kept.').extend({
    pending: count('Deliveries that wait for their first or next attempt.'),
    dead: count('Deliveries that were given up and can be sent again.'),
    receivers: z.array(ReceiverShape),
  }),
  answers: { 200: 'A page of attempts, and the state of deliveries now.' },
  example: { query: { limit: '2' } },
  run: async (deps, { input: { limit, after, receiver, outcome, last }, isForPeople }) => {
    const { deliveries, receiverStore } = deps
    const isWhole = isForPeople || last || (receiver ?? outcome) !== undefined
    const [pending, dead, log, receivers] = await Promise.all([
      deliveries.countPending(),
      deliveries.countDead(),
      deliveries.logFrom(isWhole ? undefined : after, isWhole ? ALL_ATTEMPTS : limit + 1),
      receiverStore.read(),
    ])
    // The newest comes first.
    const lastOf = new Map(log.toReversed().map((one) => [one.attempt.id, one]))
    const found = log
      // Places that are no longer kept lie behind all of the log.
      .slice(isWhole && after !== undefined ? log.findIndex(({ entry }) => entry === after) + 1 || log.length : 0)
      .filter((one) => !last || lastOf.get(one.attempt.id) === one)
      .filter(({ attempt }) => receiver === undefined || attempt.receiver === receiver)
      .filter(({ attempt }) => outcome === undefined || attempt.outcome === outcome)
    const { items, next } = pageOfList(found, limit, ({ entry }) => entry)
    return {
      pending,
      dead,
      receivers: receivers
        .map(receiverStatus)
        .filter((one) => !isForPeople || (receiver ?? one.receiver) === one.receiver),
      items: items.map(({ attempt }) => attempt),
      next,
      carried: await carriedBy(deps, isForPeople ? items.map(({ attempt }) => attempt.id) : []),
      routed: new Set(deps.explain.routes.flatMap(({ to }) => to)),
      // Delivered, waiting and given up, by receiver.
      counted: isForPeople
        ? [
            Map.groupBy(log, ({ attempt }) => (attempt.outcome === 'delivered' ? attempt.receiver : '')),
            ...(await Promise.all([deliveries.pendingByReceiver(), deliveries.deadByReceiver()])),
          ]
        : [],
    }
  },
  json: ({ pending, dead, receivers, items, next }) => ({ pending, dead, receivers, ...pageJson({ items, next }) }),
  table: ({ pending, dead, receivers, items, carried, counted, routed }) => {
    const times = [whole('LAST DELIVERED'), whole('FAILING SINCE'), prose('LAST ERROR')]
    const columns = [
      whole('RECEIVER'),
      state('STATE'),
      number('DELIVERED'),
      ...times,
      number('WAITING'),
      number('GIVEN UP'),
    ]
    const rows = receivers.map(({ receiver, state, lastDeliveredAt, failingSince, reason }) => {
      const [delivered = '', ...others] = counted.map((by) => formatCount(by.get(receiver)?.length ?? 0))
      const name = { text: receiver, href: `/deliveries?receiver=${encodeURIComponent(receiver)}` }
      const times = [momentCell(lastDeliveredAt), momentCell(failingSince)]
      const error = cleanText(reason ?? '', 200) || (routed.has(receiver) ? '' : 'in no route: gets no alerts')
      return [name, RECEIVER_STATES[state], delivered, ...times, error, ...others]
    })
    return [
      `${countOf(pending, 'message waits', 'messages wait')}, ${formatCount(dead)} given up in the last 30 days.`,
      ...(receivers.length === 0 ? [] : [{ columns, rows }]),
      'Latest messages',
      items.length === 0 ? 'No messages.' : attemptsTable(items, carried),
    ]
  },
})

const RECEIVER_STATES = { delivers: 'delivers', failing: 'failing', disabled: 'switched off', new: 'nothing sent yet' }

/** Messages, each with its subject (the first alert, and how many more there are) and an attempt. */
export function attemptsTable(attempts: readonly AttemptShape[], carried: ReadonlyMap<string, Carried>): Shown {
  const columns = [whole('AT'), whole('RECEIVER'), named('MESSAGE'), state('RESULT'), number('ATTEMPT')]
  return {
    columns: [...columns, prose('WHY'), whole('NEXT TRY')],
    rows: attempts.map(({ at, id, receiver, type, outcome, attempt, reason, nextAt }) => [
      momentCell(at),
      receiver,
      subjectCell(type, carried.get(id)),
      OUTCOME_WORDS[outcome] ?? outcome,
      String(attempt),
      outcome === 'overtaken' ? 'Its alerts are in a newer message.' : cleanText(reason, 300),
      momentCell(nextAt),
    ]),
  }
}

/** A digest is of many accounts: none is named first. */
function subjectCell(type: string, { first, count }: Carried = { first: undefined, count: 0 }): Cell {
  if (first === undefined) return type.replace('.', ' ')
  if (type === 'alert.digest') return `digest, ${countOf(count, 'alert')}`
  const { account, level, status } = first
  const others = count === 1 ? '' : ` and ${formatCount(count - 1)} more`
  const text = `${accountText({ hubId: null, ...account })}: ${status === 'resolved' ? 'resolved' : level}, ${alertTitle(first)}${others}`
  return account === undefined ? text : { text, href: `/accounts/${account.hubId}` }
}

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
  summary: 'check that every change of an alert was sent, is queued, or needed no message',
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
    ['result', balanced ? 'OK: every open alert was sent or is queued' : `not OK: ${MISSING_WAY_OUT}`],
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
