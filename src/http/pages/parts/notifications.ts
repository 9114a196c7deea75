import type { LoggedAttempt } from '../../../delivery/deliveries.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatCount, formatPercent } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { NotificationShape } from '../../../views/shapes/explanation.ts'
import { levelBadge, when } from './cells.ts'
import { longTable, nothing } from './tables.ts'

/** Sent messages, newest first, with their outcomes; `subject`: of the alert, on a page of several alerts. */
export function notificationTable(
  sent: readonly (NotificationShape & { subject?: string })[],
  now: number,
  atOnce = sent.length,
): Html {
  if (sent.length === 0) return nothing('No notifications in the last 30 days.')
  const ofSeveral = sent.some(({ subject }) => subject !== undefined)
  return longTable(
    'Notifications and their outcome',
    ['When', ofSeveral && 'Alert', 'Change', 'Outcome', 'Receivers'],
    sent.map((one) => [
      when(one.at, now),
      ofSeveral && (one.subject ?? ''),
      changeOf(one),
      outcomeOf(one, now),
      deliveriesOf(one, now),
    ]),
    atOnce,
  )
}

/** For people: what happened to the alert, in front of its level. */
const CHANGES: Readonly<Record<NotificationShape['alert']['reason'], string>> = {
  entered: 'New',
  escalated: 'Worse',
  worse: 'Worse',
  eased: 'Better',
  recovered: 'Resolved',
  repeat: 'Still',
  uninstalled: 'Uninstalled',
  lost: 'Closed',
  test: 'Test',
}

/** `New: critical at 96 %`. */
function changeOf({ alert: { kind, status, level, reason, percent, usage } }: NotificationShape): Html {
  const at = percent !== undefined ? formatPercent(percent) : usage === undefined ? '' : formatCount(usage)
  const shown = kind === 'limit-changed' || status === 'resolved' ? undefined : html`: ${levelBadge(level)}`
  return html`${kind === 'limit-changed' ? 'Limit changed' : CHANGES[reason]}${shown}${at === '' ? '' : ` at ${at}`}`
}

const OUTCOME: Record<NotificationShape['fate'], string> = {
  pending: 'in progress',
  delivered: 'delivered',
  dead: 'given up',
  withheld: 'sent to no receiver',
  unknown: 'no longer known',
}

function outcomeOf({ fate, why, waiting, attempts }: NotificationShape, now: number): Html {
  const reason = why === '' ? undefined : html` <span class="soft">${cleanText(why, 300)}</span>`
  // The line of a receiver names its next attempt.
  const others = waiting.filter(
    ({ receiver, where }) => where !== 'delivery' || !attempts.some((one) => one.receiver === receiver),
  )
  return html`<span class="whole">${OUTCOME[fate]}</span>${reason}${others.map((one) => html`<br>${waitingText(one, now)}`)}`
}

type WaitingFor = NotificationShape['waiting'][number]

const PLACE: Record<WaitingFor['where'], string> = {
  outbox: 'not collected yet',
  group: 'waits in its group',
  digest: 'waits in the digest',
  held: 'held back',
  delivery: 'waits to be delivered',
}

function waitingText({ receiver, where, until, because }: WaitingFor, now: number): Html {
  const whom = receiver === '' ? '' : `${receiver}: `
  const why = because === undefined ? '' : ` by ${because}`
  return html`<span class="soft">${whom}${PLACE[where]}${why}${until === null ? undefined : html`, ${when(until, now)}`}</span>`
}

/** A line for each receiver with its last attempt; the ones before are folded. */
function deliveriesOf({ attempts }: NotificationShape, now: number): Html {
  const byReceiver = Map.groupBy(attempts, ({ receiver }) => receiver)
  return html`${[...byReceiver.values()].map((own) => html`<div>${receiverLine(own, now)}</div>`)}`
}

function receiverLine(attempts: NotificationShape['attempts'], now: number): Html {
  const last = attempts.at(-1) as LoggedAttempt
  const next = last.nextAt === null ? undefined : html`, next attempt ${when(last.nextAt, now)}`
  const outcome = html`${last.receiver}: ${OUTCOME_WORDS[last.outcome] ?? last.outcome} ${when(last.at, now)}${next}`
  if (attempts.length === 1) return html`${outcome}${reasonOf(last)}`
  return html`<details><summary>${outcome}</summary>${attempts.map(
    (one) =>
      html`attempt ${one.attempt}: ${OUTCOME_WORDS[one.outcome] ?? one.outcome} ${when(one.at, now)}${reasonOf(one)}<br>`,
  )}</details>`
}

const OUTCOME_WORDS: Record<string, string> = { retry: 'failed', dead: 'given up' }

function reasonOf({ reason }: LoggedAttempt): Html | undefined {
  return reason === '' ? undefined : html` <span class="soft">${cleanText(reason, 200)}</span>`
}
