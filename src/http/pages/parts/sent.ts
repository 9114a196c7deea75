import type { Alert } from '../../../alerts/alert.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatPercent, formatSeconds } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { Carried, TimedAttempt } from '../../../views/deliveries.ts'
import type { Notification, WaitingFor } from '../../../views/notifications.ts'
import { accountLink, badge, levelBadge, when } from './cells.ts'
import { htmlTable, nothing } from './tables.ts'

const LOOK: Record<string, string> = { delivered: 'good', retry: 'warning', dead: 'critical', failed: 'critical' }

/** `carried`: what each delivery is about, by its id, where that was looked up. */
export function attemptTable(
  attempts: readonly TimedAttempt[],
  now: number,
  carried: ReadonlyMap<string, Carried> = new Map(),
): Html {
  return htmlTable(
    'Newest attempts to deliver',
    [
      'When',
      'Receiver',
      'Message',
      { title: 'Attempt', number: true },
      'Outcome',
      { title: 'Answer', number: true },
      { title: 'Took', number: true },
      'Reason',
      'Next attempt',
    ],
    attempts.map((attempt) => [
      when(attempt.at === null ? null : Date.parse(attempt.at), now),
      html`<span class="whole">${attempt.receiver}</span>`,
      carriedAlerts(attempt, carried),
      String(attempt.attempt),
      badge(LOOK[attempt.outcome] ?? 'off', attempt.outcome),
      attempt.answer === null ? '' : String(attempt.answer),
      attempt.ms === null ? '' : html`<span class="whole">${formatSeconds(attempt.ms)}</span>`,
      cleanText(attempt.reason, 300),
      attempt.nextAt === null ? '' : when(Date.parse(attempt.nextAt), now),
    ]),
  )
}

/** The alerts of a delivery, a line each; what its message is where nothing is known of them. */
export function carriedAlerts({ id, type }: { id: string; type: string }, all: ReadonlyMap<string, Carried>): Html {
  const { alerts, more } = all.get(id) ?? { alerts: [], more: 0 }
  const rest = alerts.length === 0 ? (more === 0 ? type : countOf(more, 'alert')) : `and ${more} more`
  const isRestShown = alerts.length === 0 || more > 0
  return html`<span title="${id}">${alerts.map(line)}${isRestShown ? html`<span class="soft">${rest}</span>` : undefined}</span>`
}

function line({ account, level, status, ...alert }: Alert): Html {
  const what = `${status === 'resolved' ? 'resolved' : level}: ${about(alert)}`
  return html`${account === undefined ? undefined : html`${accountLink(account)} `}<span class="soft">${what}</span><br>`
}

function about({ kind, series, rule }: Pick<Alert, 'kind' | 'series' | 'rule'>): string {
  if (series !== undefined) return seriesName(series)
  if (kind === 'token') return 'tokens'
  if (kind === 'poll') return 'reading its limits'
  return kind === 'delivery' ? 'a receiver' : cleanText(rule, 60)
}

/** What was sent, newest first, with its outcome; `subject`: what it is about, on a page of several alerts. */
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

function outcomeOf({ fate, why, waiting }: Notification, now: number): Html {
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

function deliveriesOf({ attempts }: Notification, now: number): Html {
  return html`${attempts.map(
    ({ receiver, outcome, attempt, reason, at }, n) =>
      html`${n === 0 ? undefined : html`<br>`}${receiver}: ${outcome} ${when(at, now)}${attempt > 1 ? ` (attempt ${attempt})` : ''}${reason === '' ? undefined : html` <span class="soft">${cleanText(reason, 200)}</span>`}`,
  )}`
}
