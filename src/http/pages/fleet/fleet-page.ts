import { seriesName } from '../../../alerts/series-name.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatDaysLeft } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAlert } from '../../../views/find-alerts.ts'
import type { DaemonStatus } from '../../../views/fleet-health.ts'
import type { FleetStatus } from '../../../views/fleet-status.ts'
import type { NearLimit } from '../../../views/nearest-limits.ts'
import type { HealthReport } from '../../health.ts'
import { accountAlerts } from '../parts/account-alerts.ts'
import { attemptTable } from '../parts/attempt-table.ts'
import { accountLink } from '../parts/badges.ts'
import { fullness } from '../parts/bar.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { BOARD_PATH } from '../queues/queue-board.ts'
import { needsAction } from './needs-action.ts'
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
export const FIRST = 3

export function fleetPage({ status, health, nearest, mayWrite }: FleetPage): Html {
  const now = Date.parse(status.at)
  const { deliveries, queues, daemons } = status
  return html`<div data-live="verdict" role="status">${needsAction(status, health)}</div>
<form action="/accounts" class="search" role="search"><label class="wide">Account <input name="q" placeholder="domain or number" autocomplete="off"></label><button>Search</button> <a href="/accounts">All ${formatCount(status.accounts.total)} accounts</a></form>
<div data-live="fleet">
${tiles(status, now)}
<h2>Open alerts</h2>
${openAlerts(status, mayWrite, now)}
<h2>Nearest limits <a class="more" href="/accounts?sort=nearest">All accounts</a></h2>
${nearest.length === 0 ? nothing('No account is near a limit.') : nearestTable(nearest)}
<h2>Deliveries</h2>
${deliveries.newest.length === 0 ? nothing('Nothing has been sent yet.') : attemptTable(deliveries.newest.slice(0, FIRST), now)}
<div class="beside">
<section><h2>Queues</h2>
${queueTable(queues, now)}</section>
<section><h2>Running daemons</h2>
${daemons.length === 0 ? nothing('No daemon runs.') : daemonTable(daemons, now)}</section>
</div>
</div>`
}

function openAlerts({ alerts }: FleetStatus, mayWrite: boolean, now: number): Html {
  if (alerts.accounts.length === 0) return nothing('No alert is open.')
  const shown = alerts.accounts.reduce((sum, { critical, warning }) => sum + critical + warning, 0)
  const more = alerts.critical + alerts.warning - shown
  return html`${accountAlerts(alerts.accounts, now, { mayWrite })}
${more > 0 ? html`<p><a href="/alerts">${countOf(more, 'more alert')}</a></p>` : undefined}`
}

/** Who is running; one that fell silent is shown for a day. */
function daemonTable(daemons: readonly DaemonStatus[], now: number): Html {
  return table(
    'Running daemons',
    [{ title: 'Daemon' }, { title: 'Version' }, { title: 'Does' }, { title: 'Started' }, { title: 'Last seen' }],
    daemons.map(({ name, version, roles, startedAt, lastSeenAt, silent }) => [
      cleanText(name, 80),
      cleanText(version, 40),
      roles.join(', '),
      when(Date.parse(startedAt), now),
      silent
        ? html`<span class="badge critical">silent</span> ${when(Date.parse(lastSeenAt), now)}`
        : when(Date.parse(lastSeenAt), now),
    ]),
  )
}

/** The accounts that are nearest to a limit, each with that limit. */
function nearestTable(limits: readonly ShownLimit[]): Html {
  const rows = limits.map(({ limit, level, spark }) => [
    ...[accountLink(limit), seriesName(limit), spark ?? '', fullness(limit, level), daysLeftOf(limit)],
  ])
  const columns = ['Account', 'What', 'Last 7 days', 'Used', 'Days left'].map((title) => ({ title }))
  return table('Nearest limits', columns, rows)
}

interface ShownLimit {
  limit: NearLimit
  level: TimedAlert['level'] | undefined
  /** How it moved, where that can be read. */
  spark: Html | undefined
}

/** Its bar has the color that it has among the open alerts. */
export function levelOf(limit: NearLimit, alerts: readonly TimedAlert[]): TimedAlert['level'] | undefined {
  const name = seriesName(limit)
  return alerts.find(
    ({ hubId, series }) => hubId === limit.hubId && series !== undefined && seriesName(series) === name,
  )?.level
}

function daysLeftOf({ daysLeft }: NearLimit): Html | string {
  return daysLeft === null ? html`<span class="soft none">–</span>` : formatDaysLeft(daysLeft)
}

/** How much stands in each queue, and for how long; each leads to its jobs. */
export function queueTable(queues: FleetStatus['queues'], now: number): Html {
  return table(
    'Queues',
    [
      { title: 'Queue' },
      { title: 'Waiting', number: true },
      { title: 'Active', number: true },
      { title: 'Later', number: true },
      { title: 'Failed', number: true },
      { title: 'Oldest waiting' },
    ],
    queues.map(({ queue, waiting, active, delayed, failed, oldestWaitingAt }) => [
      html`<a href="${BOARD_PATH}/queue/${queue}">${queue}</a>`,
      ...[waiting, active, delayed].map(formatCount),
      failed === 0 ? '0' : html`<span class="is-warning">${formatCount(failed)}</span>`,
      oldestWaitingAt === null ? html`<span class="soft none">–</span>` : when(Date.parse(oldestWaitingAt), now),
    ]),
  )
}
