import type { Alert, AlertReason } from '../../../alerts/alert.ts'
import { alertText } from '../../../alerts/alert-title.ts'
import type { OpenAlert } from '../../../alerts/open-alerts.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import { type FleetStatus, readFleet } from '../../../checks/fleet-status.ts'
import { type FleetVerdict, newFleetText } from '../../../checks/verdict.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatDaysLeft } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { readNewest } from '../../../views/alert-log.ts'
import { handledText } from '../../../views/alert-texts.ts'
import { fullText, noneUpcomingText, readUpcoming, type Upcoming } from '../../../views/upcoming.ts'
import type { WebDeps } from '../../web-deps.ts'
import type { OperatorPage } from '../page.ts'
import { badge, fullness, nameLink, when } from '../parts/cells.ts'
import { queueTable } from '../parts/queues.ts'
import { htmlTable, nothing } from '../parts/tables.ts'
import { fleetFacts } from './fleet-facts.ts'
import { needsAction, outageOf, troublePath } from './needs-action.ts'

const REFRESH_SECONDS = 10
/** Rows of lists that have a page of their own. */
const FIRST = 3
/** So that the page is short on a phone, too. */
const MOST_UPCOMING = 2
/** Transitions that are read of each part of the log: one poll may bring several of an account. */
const NEWEST = 10

/** All accounts at a glance: how many are fine, what to do, who is next, what changed. */
export async function showFleet(deps: WebDeps): Promise<OperatorPage> {
  const [{ status, verdict }, upcoming, newest] = await Promise.all([
    readFleet(deps),
    readUpcoming(deps, { limit: FIRST }, deps.clock.now()),
    readNewest(deps, NEWEST),
  ])
  const isNew = status.accounts.total === 0
  const body = isNew ? firstSteps(deps, { status, verdict }) : fleetPage({ status, verdict, upcoming, newest })
  const head = isNew ? html`<h1>First steps</h1>` : headline(status, verdict)
  return { at: '/', title: 'Status', refreshWithoutScript: REFRESH_SECONDS, head, body, verdict }
}

/** The one number, how many accounts are ok; in an outage that first. */
function headline({ accounts }: FleetStatus, verdict: FleetVerdict): Html {
  const { total, byState, critical, warning, unknown, handled, newFleet } = accounts
  const all = total - byState.uninstalled
  const fine = all - critical - warning - unknown - handled
  const text = `${fine === all ? 'All ' : `${formatCount(fine)} of `}${countOf(all, 'account')} fine`
  const { says = text, fix = '', of = undefined } = outageOf(verdict) ?? {}
  const parts = [
    of && text,
    critical > 0 && html`<a href="/accounts">${formatCount(critical)} critical</a>`,
    warning > 0 && `${formatCount(warning)} with a warning`,
    unknown > 0 && `${formatCount(unknown)} unknown`,
    handled > 0 && html`<a href="/alerts?mark=handled">${handledText({ handled })}</a>`,
    newFleet !== null && newFleetText(newFleet),
  ].filter((part) => typeof part === 'object' || typeof part === 'string')
  const path = of && troublePath(of)
  return html`<div class="verdict ${verdict.level === 'ok' ? 'good' : verdict.level} headline" data-live="headline" role="status">
<h1>${path === undefined ? says : html`<a href="${path}">${says}</a>`}</h1>
<p>${fix}</p>
<p>${parts.map((part, n) => html`${n === 0 ? '' : ', '}${part}`)}</p></div>`
}

interface FleetPage {
  status: FleetStatus
  verdict: FleetVerdict
  upcoming: Upcoming
  newest: readonly Alert[]
}

function fleetPage({ status, verdict, upcoming, newest }: FleetPage): Html {
  const now = Date.parse(status.at)
  const others = verdict.troubles.filter((trouble) => trouble !== outageOf(verdict))
  return html`<div data-live="verdict">${needsAction(others, now)}</div>
<form action="/accounts" class="search" role="search"><label><span class="visually-hidden">Account</span><input name="q" size="26" placeholder="domain or number" autocomplete="off"></label><button>Search</button> <a href="/accounts">All accounts</a> <a href="/alerts">All alerts</a></form>
<div data-live="fleet">
<h2>At or near a limit <a href="/upcoming">More</a></h2>
${upcomingPart(upcoming, status.alerts.worst)}
<h2>What changed <a href="/changes">More</a></h2>
${changedPart(newest, now)}
${fleetFacts(status, now)}
<details><summary>Daemons and queues</summary>
<div class="beside">
${daemonPart(status, now)}
<section><h2>Queues</h2>
${queueTable(status.queues, now)}</section>
</div></details></div>`
}

/** Steps that are left in an installation without accounts, instead of empty lists. */
function firstSteps({ receivers, explain }: WebDeps, { status, verdict }: Pick<FleetPage, 'status' | 'verdict'>): Html {
  const now = Date.parse(status.at)
  const proven = status.deliveries.receivers.filter(({ lastDeliveredAt }) => lastDeliveredAt !== null)
  const rules = explain.rules.filter(({ off }) => off !== true)
  const steps: [isDone: boolean, what: Html, how: Html][] = [
    [
      false,
      html`<a href="/install">Connect an account</a>`,
      html`or send customers this link; <code>plimsoll accounts import</code> imports accounts that were installed before`,
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
  return html`<div data-live="verdict" role="status">${needsAction(verdict.troubles, now)}</div>
<div data-live="fleet">
<ol>${steps.map(([isDone, what, how]) => html`<li>${badge(isDone ? 'good' : 'off', isDone ? 'done' : 'to do')} ${what} <span class="soft">${how}</span></li>`)}</ol>
${daemonPart(status, now)}
</div>`
}

/** Running daemons; one that fell silent is shown for a day. */
function daemonPart({ daemons }: FleetStatus, now: number): Html {
  const table = htmlTable(
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
  return html`<section><h2>Running daemons</h2>
${daemons.length === 0 ? nothing('No daemon runs.') : table}</section>`
}

/** Accounts that have reached a limit, and those that reach one next, each with that limit. */
function upcomingPart(upcoming: Upcoming, alerts: readonly OpenAlert[]): Html {
  const { full, items } = upcoming
  const levelOf = ({ hubId, ...limit }: { hubId: number } & Parameters<typeof seriesName>[0]) =>
    alerts.find(
      (alert) => alert.hubId === hubId && alert.series !== undefined && seriesName(alert.series) === seriesName(limit),
    )?.level
  const row = (limit: (typeof full.items)[number], left: string) => [
    nameLink(limit),
    seriesName(limit),
    fullness(limit, levelOf(limit)),
    left,
  ]
  const rows = [
    ...items.map((limit) => row(limit, formatDaysLeft(limit.daysLeft, limit))),
    ...full.items.map((limit) => row(limit, 'limit reached')),
  ].slice(0, MOST_UPCOMING)
  return html`${rows.length === 0 ? undefined : htmlTable('Upcoming limits', ['Account', 'Limit', 'Used', 'Days left'], rows)}
<p class="soft">${full.accounts <= rows.length ? undefined : html`<a href="/accounts?sort=nearest">${fullText(full.accounts)}</a>. `}${items.length === 0 ? noneUpcomingText(upcoming) : undefined}</p>`
}

const CHANGES: Partial<Record<AlertReason, string>> = {
  entered: 'New',
  escalated: 'Worse',
  worse: 'Worse',
  eased: 'Better',
  recovered: 'Resolved',
}

/** The newest change of each account that changed last. */
function changedPart(newest: readonly Alert[], now: number): Html {
  const changes = newest.filter(({ kind, reason }) => kind !== 'test' && CHANGES[reason] !== undefined)
  const byAccount = [...Map.groupBy(changes, ({ account }) => account?.hubId ?? null)].slice(0, FIRST)
  if (byAccount.length === 0) return nothing('No alert has changed yet.')
  const lines = byAccount.map(([hubId, [alert, ...others]]) => {
    const { measuredAt, account, status, level, reason } = alert as Alert
    const name = CHANGES[reason] ?? ''
    const look = status === 'resolved' ? badge('good', name) : badge(level, `${name}: ${level}`)
    const more =
      others.length === 0 ? undefined : html` <span class="soft">and ${formatCount(others.length)} more</span>`
    return html`<li class="${status === 'resolved' ? 'good' : level}"><span>${nameLink({ hubId, hubDomain: account?.hubDomain ?? '' })} ${look} ${alertText(alert as Alert)}${more}, ${when(measuredAt, now)}</span></li>`
  })
  return html`<ul class="lines">${lines}</ul>`
}
