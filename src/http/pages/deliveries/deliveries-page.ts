import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAttempt } from '../../../views/fleet-status.ts'
import { type ReceiverStatus, receiverText } from '../../../views/receiver-status.ts'
import { attemptTable } from '../parts/attempt-table.ts'
import { nothing, table } from '../parts/table.ts'

export interface DeliveriesPage {
  pending: number
  /** Given up, and still to be replayed. */
  dead: number
  receivers: readonly ReceiverStatus[]
  attempts: readonly TimedAttempt[]
  now: number
}

export function deliveriesPage({ pending, dead, receivers, attempts, now }: DeliveriesPage): Html {
  return html`<p>${pending === 0 ? 'Nothing waits to be delivered.' : `${countOf(pending, 'delivery', 'deliveries')} on the way.`}</p>
${dead === 0 ? undefined : html`<p>${countOf(dead, 'delivery was', 'deliveries were')} given up in the last 30 days: <code>plimsoll outbox replay</code> sends them again.</p>`}
${receiverTable(receivers)}
<h2>Newest attempts</h2>
${attempts.length === 0 ? nothing('Nothing has been sent yet.') : attemptTable(attempts, now)}`
}

const LOOK: Record<ReceiverStatus['state'], string> = {
  delivers: 'good',
  failing: 'warning',
  disabled: 'critical',
  new: 'off',
}

function receiverTable(receivers: readonly ReceiverStatus[]): Html | undefined {
  if (receivers.length === 0) return undefined
  return html`<h2>Receivers</h2>
${table(
  'How the receivers fare',
  [{ title: 'Receiver' }, { title: 'State' }, { title: 'Last' }],
  receivers.map((status) => [
    status.receiver,
    html`<span class="badge ${LOOK[status.state]}">${status.state}</span>`,
    receiverText(status),
  ]),
)}`
}
