import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { FleetStatus } from '../../../views/fleet-status.ts'
import type { HealthReport } from '../../health.ts'
import { accountAlerts } from '../parts/account-alerts.ts'
import { attemptTable } from '../parts/attempt-table.ts'
import { nothing } from '../parts/table.ts'
import { daemonTable } from './daemon-table.ts'
import { nearestTable, type ShownLimit } from './nearest-table.ts'
import { needsAction } from './needs-action.ts'
import { queueTable } from './queue-table.ts'
import { tiles } from './tiles.ts'

export interface FleetPage {
  status: FleetStatus
  health: HealthReport
  /** The first of the nearest limits. */
  nearest: readonly ShownLimit[]
  /** The reader may acknowledge and silence. */
  mayWrite: boolean
}

/** Of lists that have a page of their own. */
export const FIRST = 5

export function fleetPage({ status, health, nearest, mayWrite }: FleetPage): Html {
  const now = Date.parse(status.at)
  const { deliveries, queues, daemons } = status
  return html`<div data-live="verdict" role="status">${needsAction(status, health)}</div>
<form action="/accounts" class="search" role="search"><label class="wide">Account <input name="q" placeholder="domain or number" autocomplete="off"></label><button>Search</button> <a href="/accounts">All ${formatCount(status.accounts.total)} accounts</a></form>
<div data-live="fleet">
${tiles(status, now)}
<h2>Open alerts</h2>
${openAlerts(status, mayWrite, now)}
<div class="beside">
<section><h2>Nearest limits</h2>
${nearest.length === 0 ? nothing('No account is near a limit.') : nearestTable(nearest)}</section>
<section><h2>Queues</h2>
${queueTable(queues, now)}</section>
</div>
<h2>Deliveries</h2>
${deliveries.newest.length === 0 ? nothing('Nothing has been sent yet.') : attemptTable(deliveries.newest.slice(0, FIRST), now)}
<h2>Running daemons</h2>
${daemons.length === 0 ? nothing('No daemon runs.') : daemonTable(daemons, now)}
</div>`
}

function openAlerts({ alerts }: FleetStatus, mayWrite: boolean, now: number): Html {
  if (alerts.accounts.length === 0) return nothing('No alert is open.')
  const shown = alerts.accounts.reduce((sum, { critical, warning }) => sum + critical + warning, 0)
  const more = alerts.critical + alerts.warning - shown
  return html`${accountAlerts(alerts.accounts, now, { mayWrite })}
${more > 0 ? html`<p><a href="/alerts">${countOf(more, 'more alert')}</a></p>` : undefined}`
}
