import { cleanText } from '../../text/clean-text.ts'
import { countOf } from '../../text/format-number.ts'
import { type Html, html } from '../../text/html.ts'
import type { TimedAttempt } from '../../views/fleet-status.ts'
import { attemptTable } from './attempt-table.ts'
import { nothing, table } from './table.ts'

export interface DeliveriesPage {
  pending: number
  /** Given up, and still to be replayed. */
  dead: number
  disabled: Readonly<Record<string, string>>
  attempts: readonly TimedAttempt[]
  now: number
}

export function deliveriesPage({ pending, dead, disabled, attempts, now }: DeliveriesPage): Html {
  return html`<p>${pending === 0 ? 'Nothing waits to be delivered.' : `${countOf(pending, 'delivery', 'deliveries')} on the way.`}</p>
${dead === 0 ? undefined : html`<p>${countOf(dead, 'delivery was', 'deliveries were')} given up in the last 30 days: <code>plimsoll outbox replay</code> sends them again.</p>`}
${disabledReceivers(Object.entries(disabled))}
<h2>Newest attempts</h2>
${attempts.length === 0 ? nothing('Nothing has been sent yet.') : attemptTable(attempts, now)}`
}

function disabledReceivers(disabled: readonly [string, string][]): Html | undefined {
  if (disabled.length === 0) return undefined
  return html`<h2>Switched off</h2>
<p class="soft">These receivers answered that they want nothing more.</p>
${table(
  'Receivers that are switched off',
  [{ title: 'Receiver' }, { title: 'What it said' }],
  disabled.map(([receiver, reason]) => [receiver, cleanText(reason, 300)]),
)}`
}
