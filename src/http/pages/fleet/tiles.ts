import type { DueStatus, FleetStatus } from '../../../checks/fleet-status.ts'
import { newFleetText } from '../../../checks/verdict.ts'
import { callsParts, judgeCalls } from '../../../heartbeat/failed-calls.ts'
import { ACCOUNT_STATES } from '../../../redis/keys.ts'
import { countOf, formatCount, formatDistance, formatSpan } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { isBroken } from '../../../views/deliveries.ts'
import {
  areTokensOver,
  coverageNotes,
  endpointStatusText,
  heartbeatText,
  isLow,
  shareText,
  skewText,
} from '../../../views/fleet-health.ts'
import { STATE_NAMES } from '../../../views/judge-account.ts'

/** Figures of all accounts, one tile each. */
export function tiles(status: FleetStatus, now: number): Html {
  return html`<div class="tiles">
${accountsTile(status)}
${tokensTile(status, now)}
${endpointTile(status)}
${callsTile(status.failedCalls)}
${pollsTile(status, now)}
${coverageTile(status)}
${alertsTile(status)}
${deliveriesTile(status)}
${status.heartbeat === null ? undefined : heartbeatTile(status.heartbeat, now)}
</div>`
}

function pollsTile(status: FleetStatus, now: number): Html {
  const { polls } = status
  return tile('Polls', overdue(polls), nextText('poll', polls, now), polls.overdue)
}

function callsTile(failed: FleetStatus['failedCalls']): Html {
  const [percent, inTime] = callsParts(failed)
  const isMany = judgeCalls(failed, failed, undefined) !== undefined
  return tile('Failed calls', percent, `of ${countOf(failed.calls, 'call')} ${inTime}`, isMany ? 1 : 0)
}

function accountsTile({ accounts }: FleetStatus): Html {
  const states = ACCOUNT_STATES.filter((state) => accounts.byState[state] > 0).map(
    (state) =>
      html`<li><a href="/accounts?state=${state}">${formatCount(accounts.byState[state])} ${STATE_NAMES[state]}</a></li>`,
  )
  const reading = accounts.newFleet === null ? undefined : html`<li>${newFleetText(accounts.newFleet)}</li>`
  return html`<section class="tile"><h2>Accounts</h2><p class="figure">${formatCount(accounts.total)}</p><ul>${states}${reading}</ul></section>`
}

function coverageTile({ coverage }: FleetStatus): Html {
  const [stale = '', ...notes] = coverageNotes(coverage)
  return html`<section class="tile${isLow(coverage) ? ' bad' : ''}"><h2>Fresh readings</h2><p class="figure">${shareText(coverage)}</p>
<ul><li><a href="/accounts?stale=1">${stale}</a></li>${notes.map((note) => html`<li>${note}</li>`)}</ul></section>`
}

function alertsTile({ alerts }: FleetStatus): Html {
  const { critical, warning, handled } = alerts
  const bad = critical > 0 ? ' bad' : ''
  return html`<section class="tile${bad}"><h2>Alerts</h2><p class="figure">${formatCount(critical + warning)}</p>
<ul><li><a href="/alerts?level=critical&amp;mark=active">${formatCount(critical)} critical</a></li>
<li><a href="/alerts?level=warning&amp;mark=active">${countOf(warning, 'warning')}</a></li>${handled > 0 ? html`<li>${handledLink(handled)}</li>` : undefined}</ul></section>`
}

export function handledLink(handled: number): Html {
  return html`<a href="/alerts?mark=handled">+ ${formatCount(handled)} handled</a>`
}

function endpointTile(status: FleetStatus): Html | undefined {
  if (status.tokenEndpoint === null) return undefined
  const { breaker, requestsPerSecond, clockSkewMs } = status.tokenEndpoint
  const [figure = '', ...more] = endpointStatusText(status).split(': ')
  if (breaker !== 'closed') return tile('Token endpoint', figure, more.join(': '), 1)
  const skew = clockSkewMs === null ? '' : `, clock ${skewText(clockSkewMs)}`
  return tile(
    'Token endpoint',
    figure,
    `at most ${formatCount(Math.round(requestsPerSecond))} requests a second${skew}`,
    0,
  )
}

function deliveriesTile({ deliveries }: FleetStatus): Html {
  const off = deliveries.receivers.filter(isBroken).length
  return tile(
    'Deliveries',
    `${formatCount(deliveries.pending)} pending`,
    off === 0 ? 'every receiver works' : `${countOf(off, 'receiver')} ${off === 1 ? 'fails' : 'fail'}`,
    off,
  )
}

function heartbeatTile(heartbeat: NonNullable<FleetStatus['heartbeat']>, now: number): Html {
  const { at, ok, late, ping } = heartbeat
  const figure = at === null ? 'never' : formatDistance(Date.parse(at) - now)
  return tile('Heartbeat', figure, heartbeatText(heartbeat), ok && !late && ping?.sent !== false ? 0 : 1)
}

function tokensTile({ tokens }: FleetStatus, now: number): Html {
  const { overdue, lateMs, nearestExpiryAt } = tokens
  // Failing accounts are overdue, and not late: each is due at its next attempt.
  const late = overdue === 0 || lateMs < 1_000 ? '' : `, late by ${formatSpan(lateMs)}`
  const expiry = nearestExpiryAt === null ? [] : [expiryText(Date.parse(nearestExpiryAt) - now)]
  const note = [nextText('refresh', tokens, now), ...expiry].join('; ')
  const isOver = nearestExpiryAt !== null && areTokensOver(Date.parse(nearestExpiryAt), now)
  return tile('Tokens', `${formatCount(overdue)} overdue${late}`, note, overdue + Number(isOver))
}

function expiryText(ms: number): string {
  return ms <= 0 ? `one expired ${formatDistance(ms)}` : `next token expires ${formatDistance(ms)}`
}

function tile(title: string, figure: string, note: string, bad: number): Html {
  return html`<section class="tile${bad > 0 ? ' bad' : ''}"><h2>${title}</h2><p class="figure">${figure}</p><p class="soft">${note}</p></section>`
}

function overdue({ overdue }: DueStatus): string {
  return `${formatCount(overdue)} overdue`
}

/** The next planned moment, and the age of that plan. */
function nextText(what: string, { nextAt, sweptAt }: DueStatus, now: number): string {
  const next = nextAt === null ? `no ${what} planned` : `next ${what} ${dueIn(Date.parse(nextAt) - now)}`
  return sweptAt === null ? next : `${next}, checked ${formatDistance(Date.parse(sweptAt) - now)}`
}

function dueIn(ms: number): string {
  return ms <= 0 ? 'now' : formatDistance(ms)
}
