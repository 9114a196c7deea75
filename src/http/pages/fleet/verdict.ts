import type { AlertLevel } from '../../../alerts/alert.ts'
import { leftUndone } from '../../../heartbeat/roles.ts'
import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { isLow, shareText } from '../../../views/coverage-status.ts'
import type { FleetStatus } from '../../../views/fleet-status.ts'
import { pollBudgetText } from '../../../views/poll-budget.ts'
import { isBroken } from '../../../views/receiver-status.ts'
import { type HealthReport, RECEIVERS } from '../../health.ts'

/** What is wrong, and the page where something can be done about it. */
interface Trouble {
  says: string
  at?: string
}

/** Whether somebody has to do something: what is wrong, each leading to where it is looked at. */
export function verdict(status: FleetStatus, health: HealthReport): Html {
  const stuck = health.checks.filter((check) => !check.ok && check.name !== RECEIVERS)
  const undone = leftUndone(status.daemons.filter(({ silent }) => !silent))
  const troubles = [
    ...stuck.map((check): Trouble => ({ says: `${check.name}: ${check.detail}` })),
    ...undone.map((says): Trouble => ({ says })),
    ...workTroubles(status),
    ...accountTroubles(status),
    ...status.deliveries.receivers
      .filter(isBroken)
      .map(({ receiver, state }) => ({ says: `receiver ${receiver} ${BROKEN[state] ?? 'fails'}`, at: '/deliveries' })),
  ]
  if (troubles.length === 0) return html`<p class="verdict good">All is well.</p>`
  const { tokenEndpoint, tokens, alerts } = status
  const isGrave =
    stuck.length > 0 || undone.length > 0 || isInTrouble(tokenEndpoint) || tokens.overdue > 0 || alerts.critical > 0
  const sentences = troubles.map(
    ({ says, at }, n) => html`${n === 0 ? '' : ' · '}${at === undefined ? says : html`<a href="${at}">${says}</a>`}`,
  )
  return html`<p class="verdict ${isGrave ? 'critical' : 'warning'}">${sentences}</p>`
}

const BROKEN: Partial<Record<string, string>> = { disabled: 'is switched off' }

function workTroubles({ tokenEndpoint, tokens, polls, coverage, pollBudget }: FleetStatus): Trouble[] {
  return [
    ...(isInTrouble(tokenEndpoint) ? [{ says: 'the token endpoint is in trouble: no account is at fault' }] : []),
    ...(tokens.overdue > 0
      ? [{ says: `${countOf(tokens.overdue, 'refresh', 'refreshes')} overdue`, at: '/accounts?sort=refresh' }]
      : []),
    ...(polls.overdue > 0 ? [{ says: `${countOf(polls.overdue, 'poll')} overdue`, at: '/accounts?sort=poll' }] : []),
    ...(isLow(coverage)
      ? [{ says: `${shareText(coverage)} of the accounts have a fresh reading`, at: '/accounts?stale=1' }]
      : []),
    ...(pollBudget === null || pollBudget.short === null
      ? []
      : [{ says: `call budget ${pollBudgetText(pollBudget)}` }]),
  ]
}

function accountTroubles({ accounts, alerts }: FleetStatus): Trouble[] {
  const { reauthorize } = accounts.byState
  return [
    ...(reauthorize > 0
      ? [{ says: `${countOf(reauthorize, 'account')} must be authorised again`, at: '/accounts?state=reauthorize' }]
      : []),
    ...(alerts.critical > 0 ? [alertTrouble(alerts, 'critical', 'critical alert')] : []),
    ...(alerts.warning > 0 ? [alertTrouble(alerts, 'warning', 'warning')] : []),
  ]
}

/** Whoever is woken by it sees whether somebody else is at it already. Said only where each of them was looked at. */
function alertTrouble({ worst, ...counts }: FleetStatus['alerts'], level: AlertLevel, name: string): Trouble {
  const shown = worst.filter((alert) => alert.level === level)
  const known = shown.filter(({ acknowledged }) => acknowledged !== undefined).length
  const all = counts[level]
  const note = known === 0 || shown.length < all ? '' : `, ${known === all ? '' : `${formatCount(known)} `}acknowledged`
  return { says: countOf(all, name) + note, at: `/alerts?level=${level}` }
}

function isInTrouble(endpoint: FleetStatus['tokenEndpoint']): boolean {
  return endpoint !== null && endpoint.breaker !== 'closed'
}
