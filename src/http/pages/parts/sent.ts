import type { Alert } from '../../../alerts/alert.ts'
import { alertTitle } from '../../../alerts/alert-title.ts'
import type { LoggedAttempt } from '../../../delivery/deliveries.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatPercent, formatSeconds } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { Carried } from '../../../views/deliveries.ts'
import type { Notification, WaitingFor } from '../../../views/notifications.ts'
import type { AttemptShape } from '../../../views/shapes/delivery.ts'
import { accountLink, badge, levelBadge, when } from './cells.ts'
import { htmlTable, nothing } from './tables.ts'

const LOOK: Record<string, string> = { delivered: 'good', retry: 'warning', dead: 'critical', failed: 'critical' }

/** `carried`: subjects of each delivery, by its id. */
export function attemptTable(
  attempts: readonly AttemptShape[],
  now: number,
  carried: ReadonlyMap<string, Carried>,
): Html {
  return deliveryTable(
    'Newest attempts to deliver',
    'When',
    attempts.map((one) => ({
      at: when(one.at, now),
      id: one.id,
      receiver: one.receiver,
      type: one.type,
      outcome: badge(LOOK[one.outcome] ?? 'off', one.outcome),
      details: [
        ['Attempt', String(one.attempt)],
        ['Answer', one.answer === null ? undefined : String(one.answer)],
        ['Took', one.ms === null ? undefined : formatSeconds(one.ms)],
        ['Reason', cleanText(one.reason, 300) || undefined],
        ['Next attempt', one.nextAt === null ? undefined : when(one.nextAt, now)],
      ],
    })),
    carried,
  )
}

interface DeliveryRow {
  at: Html
  id: string
  receiver: string
  type: string
  outcome: Html | string
  /** Folded; undefined facts are left out. */
  details: readonly (readonly [name: string, value: Html | string | undefined])[]
  /** The form in its last cell. */
  form?: Html | undefined
}

/** Deliveries, a line each: time, receiver, subject, outcome. All else of one is folded into its line. */
export function deliveryTable(
  caption: string,
  at: string,
  rows: readonly DeliveryRow[],
  carried: ReadonlyMap<string, Carried>,
): Html {
  const hasForms = rows.some(({ form }) => form !== undefined)
  return htmlTable(
    caption,
    [at, 'Receiver', 'Message', 'Outcome', hasForms && 'To do'],
    rows.map((row) => {
      const [first, ...others] = linesOf(row, carried)
      const facts = row.details.flatMap(([name, value]) => (value === undefined ? [] : [html`${name}: ${value}<br>`]))
      const details = [...others.map((line) => html`${line}<br>`), ...facts]
      return [
        row.at,
        html`<span class="whole">${row.receiver}</span>`,
        html`<span title="${row.id}">${first}</span>`,
        details.length === 0
          ? row.outcome
          : html`<details><summary class="whole">${row.outcome}<span class="unseen">: details of ${row.id}</span></summary>${details}</details>`,
        hasForms && (row.form ?? ''),
      ]
    }),
  )
}

/** The message in a line, then its alerts where those are several. A digest is of many accounts: none is named first. */
function linesOf({ id, type }: DeliveryRow, carried: ReadonlyMap<string, Carried>): Html[] {
  const { alerts, more } = carried.get(id) ?? { alerts: [], more: 0 }
  const count = alerts.length + more
  const [first, ...others] = alerts.map(line)
  const left = more > 0 ? [html`<span class="soft">${countOf(more, 'more alert')}</span>`] : []
  const counted = count === 0 ? type : countOf(count, 'alert')
  if (first === undefined) return [html`<span class="soft">${counted}</span>`]
  if (type === 'alert.digest') return [html`<span class="soft">digest, ${counted}</span>`, first, ...others, ...left]
  if (count === 1) return [first]
  return [html`${first} <span class="soft">and ${formatCount(count - 1)} more</span>`, ...others, ...left]
}

function line(alert: Alert): Html {
  const { account, level, status } = alert
  const what = `${status === 'resolved' ? 'resolved' : level}: ${alertTitle(alert)}`
  return html`${account === undefined ? undefined : html`${accountLink(account)} `}<span class="soft">${what}</span>`
}

/** Sent messages, newest first, with their outcomes; `subject`: of the alert, on a page of several alerts. */
export function notificationTable(sent: readonly (Notification & { subject?: string })[], now: number): Html {
  if (sent.length === 0) return nothing('No notifications in the last 30 days.')
  const ofSeveral = sent.some(({ subject }) => subject !== undefined)
  return htmlTable(
    'Notifications and their outcome',
    ['When', ofSeveral && 'What', 'Sent as', 'Outcome', 'Deliveries'],
    sent.map((one) => [
      when(one.at, now),
      ofSeveral && (one.subject ?? ''),
      sentAs(one),
      outcomeOf(one, now),
      deliveriesOf(one, now),
    ]),
  )
}

function sentAs({ alert: { kind, level, reason, percent, usage } }: Notification): Html {
  const at = percent !== undefined ? formatPercent(percent) : usage === undefined ? '' : formatCount(usage)
  const what = kind === 'limit-changed' ? html`limit changed` : html`${levelBadge(level)} ${reason}`
  return html`${what}${at === '' ? '' : ` at ${at}`}`
}

const OUTCOME: Record<Notification['fate'], string> = {
  pending: 'in progress',
  delivered: 'delivered',
  dead: 'given up',
  withheld: 'sent to no receiver',
  unknown: 'no longer known',
}

function outcomeOf({ fate, why, waiting, attempts }: Notification, now: number): Html {
  const reason = why === '' ? undefined : html` <span class="soft">${cleanText(why, 300)}</span>`
  // The line of a receiver names its next attempt.
  const others = waiting.filter(
    ({ receiver, where }) => where !== 'delivery' || !attempts.some((one) => one.receiver === receiver),
  )
  return html`${OUTCOME[fate]}${reason}${others.map((one) => html`<br>${waitingText(one, now)}`)}`
}

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
function deliveriesOf({ attempts }: Notification, now: number): Html {
  const byReceiver = Map.groupBy(attempts, ({ receiver }) => receiver)
  return html`${[...byReceiver.values()].map((own) => html`<div>${receiverLine(own, now)}</div>`)}`
}

function receiverLine(attempts: Notification['attempts'], now: number): Html {
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
