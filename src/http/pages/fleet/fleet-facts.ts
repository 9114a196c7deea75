import type { FleetStatus } from '../../../checks/fleet-status.ts'
import { callsParts, judgeCalls } from '../../../heartbeat/failed-calls.ts'
import { countOf, formatCount, formatDistance, formatPercent, formatSpan } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { areTokensOver, endpointTrouble, heartbeatText, isLow } from '../../../views/fleet-health.ts'
import { factList } from '../parts/tables.ts'

/** How all accounts are served, a few words each; what is wrong stands out. */
export function fleetFacts(status: FleetStatus, now: number): Html {
  const { coverage, tokenEndpoint, failedCalls, deliveries, heartbeat } = status
  const [failed, inTime] = callsParts(failedCalls)
  const early = failedCalls.days < 3 ? '; judged after 3 days' : ''
  const isUp = tokenEndpoint?.breaker === 'closed'
  return factList([
    ['Tokens', tokensFact(status, now)],
    ['HubSpot token endpoint', tokenEndpoint === null ? undefined : isUp ? 'OK' : bad(endpointTrouble(tokenEndpoint))],
    [
      'Limits up to date',
      html`${marked(coverageText(coverage), isLow(coverage))}${coverage.stale === 0 ? undefined : html` <a href="/accounts?stale=1">Show the others</a>`}`,
    ],
    [
      'Failed calls',
      marked(`${failed} ${inTime}${early}`, judgeCalls(failedCalls, failedCalls, undefined) !== undefined),
    ],
    ['Messages', deliveries.pending === 0 ? 'all sent' : `${formatCount(deliveries.pending)} waiting`],
    [
      'Heartbeat',
      heartbeat === null
        ? undefined
        : marked(heartbeatText(heartbeat), !heartbeat.ok || heartbeat.late || heartbeat.ping?.sent === false),
    ],
  ])
}

function tokensFact({ tokens, accounts: { total, byState } }: FleetStatus, now: number): Html | string {
  const { overdue, lateMs, nearestExpiryAt } = tokens
  if (nearestExpiryAt !== null && areTokensOver(Date.parse(nearestExpiryAt), now))
    return bad(`one expired ${formatDistance(Date.parse(nearestExpiryAt) - now)}`)
  // Failing accounts are overdue, and not late: each is due at its next attempt.
  if (lateMs >= 1_000 && overdue > 0)
    return bad(`${countOf(overdue, 'refresh', 'refreshes')} overdue, late by ${formatSpan(lateMs)}`)
  const live = total - byState.uninstalled - byState.uninstalling
  if (byState.active === live) return 'all refreshed in time'
  return bad(`${formatCount(byState.active)} of ${countOf(live, 'account')} refreshed in time`)
}

function coverageText({ polled, stale, objective }: FleetStatus['coverage']): string {
  return `${formatCount(polled - stale)} of ${formatCount(polled)} (goal ${formatPercent(objective * 100)})`
}

function marked(text: string, isBad: boolean): Html | string {
  return isBad ? bad(text) : text
}

function bad(text: string): Html {
  return html`<span class="fault">${text}</span>`
}
