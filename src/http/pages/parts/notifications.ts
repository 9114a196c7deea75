import { cleanText } from '../../../text/clean-text.ts'
import { formatCount, formatPercent } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { ToldTransition, WaitingFor } from '../../../views/told-of-account.ts'
import { levelBadge } from './badges.ts'
import { nothing, table } from './table.ts'
import { when } from './when.ts'

/** What was sent, newest first, with its outcome; `subject`: what it is about, on a page of several alerts. */
export function notificationTable(sent: readonly (ToldTransition & { subject?: string })[], now: number): Html {
  if (sent.length === 0) return nothing('No notifications in the last 30 days.')
  const ofSeveral = sent.some(({ subject }) => subject !== undefined)
  const columns = ['When', ...(ofSeveral ? ['What'] : []), 'Sent as', 'Outcome', 'Deliveries']
  return table(
    'Notifications and their outcome',
    columns.map((title) => ({ title })),
    sent.map((one) => [
      when(one.at, now),
      ...(ofSeveral ? [one.subject ?? ''] : []),
      sentAs(one),
      outcomeOf(one, now),
      deliveriesOf(one, now),
    ]),
  )
}

function sentAs({ alert: { kind, level, reason, percent, usage } }: ToldTransition): Html {
  const at = percent !== undefined ? formatPercent(percent) : usage === undefined ? '' : formatCount(usage)
  const what = kind === 'limit-changed' ? html`limit changed` : html`${levelBadge(level)} ${reason}`
  return html`${what}${at === '' ? '' : ` at ${at}`}`
}

const OUTCOME: Record<ToldTransition['fate'], string> = {
  pending: 'in progress',
  delivered: 'delivered',
  dead: 'given up',
  withheld: 'sent to no receiver',
  unknown: 'no longer known',
}

function outcomeOf({ fate, why, waiting }: ToldTransition, now: number): Html {
  const reason = why === '' ? undefined : html` <span class="soft">${cleanText(why, 300)}</span>`
  return html`${OUTCOME[fate]}${reason}${waiting.map((one) => html`<br>${waitingText(one, now)}`)}`
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

function deliveriesOf({ attempts }: ToldTransition, now: number): Html {
  return html`${attempts.map(
    ({ receiver, outcome, attempt, reason, at }, n) =>
      html`${n === 0 ? undefined : html`<br>`}${receiver}: ${outcome} ${when(at, now)}${attempt > 1 ? ` (attempt ${attempt})` : ''}${reason === '' ? undefined : html` <span class="soft">${cleanText(reason, 200)}</span>`}`,
  )}`
}
