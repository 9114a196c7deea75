import type { FastifyRequest } from 'fastify'
import type { OpenAlert } from '../../../alerts/open-alerts.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import { type FleetStatus, readFleet } from '../../../checks/fleet-status.ts'
import type { FleetVerdict } from '../../../checks/verdict.ts'
import { attemptsTable } from '../../../operations/deliveries.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatDaysLeft } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { type Carried, carriedBy } from '../../../views/deliveries.ts'
import type { DaemonShape } from '../../../views/shapes/fleet-status.ts'
import { fullText, noneUpcomingText, readUpcoming, type Upcoming } from '../../../views/upcoming.ts'
import type { WebDeps } from '../../web-deps.ts'
import { readSparkline } from '../account/account-series.ts'
import { htmlOf } from '../list-page.ts'
import type { OperatorPage } from '../page.ts'
import { reconnectUrl } from '../parts/alert-links.ts'
import { accountAlerts } from '../parts/alert-lists.ts'
import { accountLink, badge, fullness, when } from '../parts/cells.ts'
import { queueTable } from '../parts/queues.ts'
import { htmlTable, nothing } from '../parts/tables.ts'
import { needsAction } from './needs-action.ts'
import { handledLink, tiles } from './tiles.ts'

const REFRESH_SECONDS = 10
/** Rows of lists that have a page of their own. */
const FIRST = 3

/** All accounts at a glance. */
export async function showFleet(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const now = deps.clock.now()
  const [{ status, verdict }, upcoming] = await Promise.all([
    readFleet(deps),
    readUpcoming(deps, { limit: FIRST }, now),
  ])
  void deps.directory.warm().catch(() => undefined) // The search reports failures.
  const first = upcoming.items.map(async (limit): Promise<ShownLimit> => {
    const level = levelOfLimit(limit, status.alerts.worst)
    return { limit, level, spark: await readSparkline(deps.history, limit, level, now) }
  })
  const alerts = openAlerts(deps, request, status)
  const carried = await carriedBy(
    deps,
    status.deliveries.newest.slice(0, FIRST).map(({ id }) => id),
  )
  const page = { status, verdict, upcoming, first: await Promise.all(first), alerts, carried }
  const body = status.accounts.total === 0 ? firstSteps(deps, page) : fleetPage(page)
  return { at: '/', title: 'Status', refreshWithoutScript: REFRESH_SECONDS, body, verdict }
}

interface ShownLimit {
  limit: Upcoming['items'][number]
  level: OpenAlert['level'] | undefined
  /** How it moved, where that can be read. */
  spark: Html | undefined
}

/** The color of a limit's bar: the one that it has among the open alerts. */
function levelOfLimit(limit: ShownLimit['limit'], alerts: readonly OpenAlert[]): OpenAlert['level'] | undefined {
  const name = seriesName(limit)
  return alerts.find(
    ({ hubId, series }) => hubId === limit.hubId && series !== undefined && seriesName(series) === name,
  )?.level
}

interface FleetPage {
  status: FleetStatus
  verdict: FleetVerdict
  upcoming: Upcoming
  /** The limits that are reached first. */
  first: readonly ShownLimit[]
  /** The list of the open ones. */
  alerts: Html
  /** Subjects of the newest deliveries, by their ids. */
  carried: ReadonlyMap<string, Carried>
}

function fleetPage({ status, verdict, upcoming, first, alerts, carried }: FleetPage): Html {
  const now = Date.parse(status.at)
  const { deliveries, queues } = status
  const { total } = status.accounts
  return html`<div data-live="verdict" role="status">${needsAction(verdict)}</div>
<form action="/accounts" class="search" role="search"><label>Account <input name="q" size="26" placeholder="domain or number ( / )" autocomplete="off"></label><button>Search</button> <a href="/accounts">${total === 1 ? 'All accounts' : `All ${countOf(total, 'account')}`}</a></form>
<div data-live="fleet">
${tiles(status, now)}
<h2>Open alerts</h2>
${alerts}
<h2>Upcoming <a href="/upcoming">${upcoming.accounts > first.length ? `All ${formatCount(upcoming.accounts)} accounts` : 'More'}</a></h2>
${first.length === 0 ? nothing(noneUpcomingText(upcoming)) : upcomingTable(first)}
${upcoming.full.accounts === 0 ? undefined : html`<p><a href="/accounts?sort=nearest">${fullText(upcoming.full.accounts)}</a></p>`}
<h2>Deliveries</h2>
${deliveries.newest.length === 0 ? nothing('Nothing has been sent yet.') : htmlOf('Newest attempts to deliver', attemptsTable(deliveries.newest.slice(0, FIRST), carried))}
<div class="beside">
<section><h2>Queues</h2>
${queueTable(queues, now)}</section>
${daemonPart(status, now)}
</div>
</div>`
}

/** Steps that are left in an installation without accounts, instead of empty lists. */
function firstSteps({ receivers, explain }: WebDeps, { status, verdict }: FleetPage): Html {
  const now = Date.parse(status.at)
  const proven = status.deliveries.receivers.filter(({ lastDeliveredAt }) => lastDeliveredAt !== null)
  const rules = explain.rules.filter(({ off }) => off !== true)
  const steps: [isDone: boolean, what: Html, how: Html][] = [
    [
      false,
      html`<a href="/install">Connect an account</a>`,
      html`or send customers this link; <code>plimsoll accounts import</code> brings an existing fleet in`,
    ],
    [
      proven.length > 0,
      html`<a href="/deliveries">Send a test to a receiver</a>`,
      html`${receivers.length === 0 ? 'the config has none yet' : `${proven.length} of ${countOf(receivers.length, 'receiver')} delivered`}`,
    ],
    [
      rules.length > 0,
      html`Set thresholds`,
      html`${rules.length === 0 ? 'the config has none: no limit is an alert' : `${countOf(rules.length, 'rule')} in the config`}`,
    ],
  ]
  return html`<div data-live="verdict" role="status">${needsAction(verdict)}</div>
<div data-live="fleet">
<h2>First steps</h2>
<ol>${steps.map(([isDone, what, how]) => html`<li>${badge(isDone ? 'good' : 'off', isDone ? 'done' : 'to do')} ${what} <span class="soft">${how}</span></li>`)}</ol>
${daemonPart(status, now)}
</div>`
}

function daemonPart({ daemons }: FleetStatus, now: number): Html {
  return html`<section><h2>Running daemons</h2>
${daemons.length === 0 ? nothing('No daemon runs.') : daemonTable(daemons, now)}</section>`
}

function openAlerts(deps: WebDeps, request: FastifyRequest, { at, alerts }: FleetStatus): Html {
  const { mayWrite } = request
  const { critical, warning, handled, accounts } = alerts
  const shown = accounts.reduce((sum, one) => sum + one.critical + one.warning, 0)
  const more = critical + warning - shown
  const known = handled > 0 ? html`<p>${handledLink(handled)}</p>` : undefined
  if (accounts.length === 0)
    return html`${nothing(handled === 0 ? 'No alert is open.' : 'Nothing is left to handle.')}${known}`
  const reconnect = mayWrite ? (hubId: number) => reconnectUrl(deps, hubId, request) : undefined
  return html`${accountAlerts(accounts, Date.parse(at), { mayWrite, reconnect })}
${more > 0 ? html`<p><a href="/alerts?mark=active">${countOf(more, 'more alert')}</a></p>` : undefined}${known}`
}

/** Running daemons; one that fell silent is shown for a day. */
function daemonTable(daemons: readonly DaemonShape[], now: number): Html {
  return htmlTable(
    'Running daemons',
    ['Daemon', 'Version', 'Does', 'Started', 'Last seen'],
    daemons.map(({ name, version, roles, startedAt, lastSeenAt, silent }) => [
      cleanText(name, 80),
      cleanText(version, 40),
      roles.join(', '),
      when(startedAt, now),
      silent ? html`${badge('critical', 'silent')} ${when(lastSeenAt, now)}` : when(lastSeenAt, now),
    ]),
  )
}

/** The accounts that reach a limit next, each with that limit. */
function upcomingTable(limits: readonly ShownLimit[]): Html {
  return htmlTable(
    'Upcoming limits',
    ['Account', 'What', 'Last 7 days', 'Used', 'Days left'],
    limits.map(({ limit, level, spark }) => [
      accountLink(limit),
      seriesName(limit),
      spark ?? '',
      fullness(limit, level),
      formatDaysLeft(limit.daysLeft, limit),
    ]),
  )
}
