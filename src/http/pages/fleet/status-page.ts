import { ACCOUNT_STATES } from '../../../redis/keys.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { PlannedAccount } from '../../../views/account-view.ts'
import { coverageNotes, isLow, shareText } from '../../../views/coverage-status.ts'
import type { DueStatus, FleetStatus } from '../../../views/fleet-status.ts'
import { type HeartbeatStatus, heartbeatText } from '../../../views/heartbeat-status.ts'
import { pollBudgetText } from '../../../views/poll-budget.ts'
import { isBroken } from '../../../views/receiver-status.ts'
import { skewText } from '../../../views/token-endpoint.ts'
import { type HealthReport, RECEIVERS } from '../../health.ts'
import { accountTable } from '../parts/account-table.ts'
import { alertTable } from '../parts/alert-table.ts'
import { attemptTable } from '../parts/attempt-table.ts'
import { nothing } from '../parts/table.ts'
import { distance } from '../parts/when.ts'

export interface StatusPage {
  status: FleetStatus
  health: HealthReport
  accounts: readonly PlannedAccount[]
  next: number | undefined
}

export function statusPage({ status, health, accounts, next }: StatusPage): Html {
  const now = Date.parse(status.at)
  return html`${verdict(status, health)}
<div class="tiles">
${accountsTile(status)}
${tile('Tokens', overdue(status.tokens), nextText('refresh', status.tokens, now), status.tokens.overdue)}
${endpointTile(status)}
${tile('Polls', overdue(status.polls), pollsNote(status, now), status.polls.overdue + (status.pollBudget?.short?.polls ?? 0))}
${coverageTile(status)}
${alertsTile(status)}
${deliveriesTile(status)}
${status.heartbeat === null ? undefined : heartbeatTile(status.heartbeat, now)}
</div>
<h2>Open alerts</h2>
${openAlerts(status, now)}
<h2>Deliveries</h2>
${status.deliveries.newest.length === 0 ? nothing('Nothing has been sent yet.') : attemptTable(status.deliveries.newest, now)}
<h2>Accounts</h2>
${accounts.length === 0 ? noAccounts() : accountTable(accounts, now)}
${next === undefined ? undefined : html`<p><a href="/?after=${next}">More accounts</a></p>`}`
}

/** One sentence that says whether somebody has to do something. */
function verdict(
  { alerts, tokens, tokenEndpoint, polls, pollBudget, coverage, deliveries, accounts }: FleetStatus,
  health: HealthReport,
): Html {
  const stuck = health.checks.filter((check) => !check.ok && check.name !== RECEIVERS)
  const sentences = [
    ...stuck.map((check) => `${check.name}: ${check.detail}`),
    ...(isInTrouble(tokenEndpoint) ? ['the token endpoint is in trouble: no account is at fault'] : []),
    ...(tokens.overdue > 0 ? [`${countOf(tokens.overdue, 'refresh', 'refreshes')} overdue`] : []),
    ...(polls.overdue > 0 ? [`${countOf(polls.overdue, 'poll')} overdue`] : []),
    ...(isLow(coverage) ? [`${shareText(coverage)} of the accounts have a fresh reading`] : []),
    ...(pollBudget === null || pollBudget.short === null ? [] : [`call budget ${pollBudgetText(pollBudget)}`]),
    ...(accounts.byState.reauthorize > 0
      ? [`${countOf(accounts.byState.reauthorize, 'account')} must be authorised again`]
      : []),
    ...(alerts.critical > 0 ? [countOf(alerts.critical, 'critical alert')] : []),
    ...(alerts.warning > 0 ? [countOf(alerts.warning, 'warning')] : []),
    ...deliveries.receivers
      .filter(isBroken)
      .map(({ receiver, state }) => `receiver ${receiver} ${state === 'disabled' ? 'is switched off' : 'fails'}`),
  ]
  if (sentences.length === 0) return html`<p class="verdict good">All is well.</p>`
  const look =
    stuck.length > 0 || isInTrouble(tokenEndpoint) || tokens.overdue > 0 || alerts.critical > 0 ? 'critical' : 'warning'
  return html`<p class="verdict ${look}">${sentences.join(' · ')}</p>`
}

function accountsTile({ accounts }: FleetStatus): Html {
  const states = ACCOUNT_STATES.filter((state) => accounts.byState[state] > 0).map(
    (state) => html`<li><a href="/accounts?state=${state}">${formatCount(accounts.byState[state])} ${state}</a></li>`,
  )
  return html`<section class="tile"><h2>Accounts</h2><p class="figure">${formatCount(accounts.total)}</p><ul>${states}</ul></section>`
}

function coverageTile({ coverage }: FleetStatus): Html {
  const [stale = '', ...notes] = coverageNotes(coverage)
  return html`<section class="tile${isLow(coverage) ? ' bad' : ''}"><h2>Fresh readings</h2><p class="figure">${shareText(coverage)}</p>
<ul><li><a href="/accounts?stale=1">${stale}</a></li>${notes.map((note) => html`<li>${note}</li>`)}</ul></section>`
}

function alertsTile({ alerts }: FleetStatus): Html {
  return html`<section class="tile"><h2>Alerts</h2><p class="figure">${formatCount(alerts.critical + alerts.warning)}</p>
<ul><li><a href="/alerts?level=critical">${formatCount(alerts.critical)} critical</a></li>
<li><a href="/alerts?level=warning">${formatCount(alerts.warning)} warning</a></li></ul></section>`
}

function isInTrouble(endpoint: FleetStatus['tokenEndpoint']): boolean {
  return endpoint !== null && endpoint.breaker !== 'closed'
}

function endpointTile({ tokenEndpoint }: FleetStatus): Html | undefined {
  if (tokenEndpoint === null) return undefined
  const { breaker, cause, detail, requestsPerSecond, clockSkewMs } = tokenEndpoint
  const limit = `at most ${formatCount(Math.round(requestsPerSecond))} requests a second`
  const skew = clockSkewMs === null ? '' : `, clock ${skewText(clockSkewMs)}`
  const note = breaker === 'closed' ? limit + skew : `${cause}: ${cleanText(detail ?? '', 120)}`
  return tile('Token endpoint', breaker === 'closed' ? 'works' : breaker, note, breaker === 'closed' ? 0 : 1)
}

function deliveriesTile({ deliveries }: FleetStatus): Html {
  const off = deliveries.receivers.filter(isBroken).length
  return tile(
    'Deliveries',
    `${formatCount(deliveries.pending)} pending`,
    off === 0 ? 'every receiver takes them' : `${countOf(off, 'receiver')} ${off === 1 ? 'takes' : 'take'} none`,
    off,
  )
}

function heartbeatTile(heartbeat: HeartbeatStatus, now: number): Html {
  const { at, ok, late, ping } = heartbeat
  const figure = at === null ? 'never' : distance(Date.parse(at) - now)
  return tile('Heartbeat', figure, heartbeatText(heartbeat), ok && !late && ping?.sent !== false ? 0 : 1)
}

function tile(title: string, figure: string, note: string, bad: number): Html {
  return html`<section class="tile${bad > 0 ? ' bad' : ''}"><h2>${title}</h2><p class="figure">${figure}</p><p class="soft">${note}</p></section>`
}

function overdue({ overdue }: DueStatus): string {
  return `${formatCount(overdue)} overdue`
}

function nextText(what: string, { nextAt }: DueStatus, now: number): string {
  return nextAt === null ? `no ${what} planned` : `next ${what} ${dueIn(Date.parse(nextAt) - now)}`
}

function pollsNote({ polls, pollBudget }: FleetStatus, now: number): string {
  const next = nextText('poll', polls, now)
  return pollBudget === null ? next : `${next}; call budget ${pollBudgetText(pollBudget)}`
}

function dueIn(ms: number): string {
  return ms <= 0 ? 'now' : distance(ms)
}

function openAlerts({ alerts }: FleetStatus, now: number): Html {
  if (alerts.worst.length === 0) return nothing('No alert is open.')
  const more = alerts.critical + alerts.warning - alerts.worst.length
  return html`${alertTable(alerts.worst, now, 'with account')}
${more > 0 ? html`<p><a href="/alerts">${countOf(more, 'more alert')}</a></p>` : undefined}`
}

function noAccounts(): Html {
  return html`<p class="nothing">No account is connected yet. <a href="/install">Connect one</a>.</p>`
}
