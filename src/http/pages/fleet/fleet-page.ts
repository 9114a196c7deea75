import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { PlannedAccount } from '../../../views/account-view.ts'
import type { FleetStatus } from '../../../views/fleet-status.ts'
import type { HealthReport } from '../../health.ts'
import { accountTable } from '../parts/account-table.ts'
import { alertTable } from '../parts/alert-table.ts'
import { attemptTable } from '../parts/attempt-table.ts'
import { nothing } from '../parts/table.ts'
import { daemonTable } from './daemon-table.ts'
import { nearestTable } from './nearest-table.ts'
import { queueTable } from './queue-table.ts'
import { tiles } from './tiles.ts'
import { verdict } from './verdict.ts'

export interface FleetPage {
  status: FleetStatus
  health: HealthReport
  /** The first few. */
  accounts: readonly PlannedAccount[]
  /** Whoever looks may acknowledge and silence. */
  mayWrite: boolean
}

export function fleetPage({ status, health, accounts, mayWrite }: FleetPage): Html {
  const now = Date.parse(status.at)
  const { deliveries, nearestLimits, queues, daemons } = status
  return html`<div data-live="verdict" role="status">${verdict(status, health)}</div>
<div data-live="fleet">
${tiles(status, now)}
<h2>Open alerts</h2>
${openAlerts(status, mayWrite, now)}
<h2>Nearest limits</h2>
${nearestLimits.length === 0 ? nothing('No account is near a limit.') : nearestTable(nearestLimits, status.alerts.worst)}
<h2>Deliveries</h2>
${deliveries.newest.length === 0 ? nothing('Nothing has been sent yet.') : attemptTable(deliveries.newest, now)}
<div class="beside">
<section><h2>Queues</h2>
${queueTable(queues, now)}</section>
<section><h2>Running daemons</h2>
${daemons.length === 0 ? nothing('No daemon has said that it runs.') : daemonTable(daemons, now)}</section>
</div>
<h2>Accounts</h2>
${accounts.length === 0 ? noAccounts() : accountTable(accounts, now)}
${moreAccounts(status, accounts.length)}
</div>`
}

function openAlerts({ alerts }: FleetStatus, mayWrite: boolean, now: number): Html {
  if (alerts.worst.length === 0) return nothing('No alert is open.')
  const more = alerts.critical + alerts.warning - alerts.worst.length
  return html`${alertTable(alerts.worst, now, 'with account', { mayWrite })}
${more > 0 ? html`<p><a href="/alerts">${countOf(more, 'more alert')}</a></p>` : undefined}`
}

function noAccounts(): Html {
  return html`<p class="nothing">No account is connected yet. <a href="/install">Connect one</a>.</p>`
}

function moreAccounts({ accounts }: FleetStatus, shown: number): Html | undefined {
  if (accounts.total <= shown) return undefined
  return html`<p><a href="/accounts">All ${formatCount(accounts.total)} accounts</a></p>`
}
