import type { AlertLevel } from '../../../alerts/alert.ts'
import { leftUndone } from '../../../heartbeat/daemons.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { Cause } from '../../../tokens/endpoint/breaker.ts'
import { accountText, worstText } from '../../../views/alert-texts.ts'
import { isBroken, receiverText } from '../../../views/deliveries.ts'
import { budgetText, endpointStatusText, heartbeatText, isLow, shareText } from '../../../views/fleet-health.ts'
import { type FleetStatus, newFleetText } from '../../../views/fleet-status.ts'
import type { OpenAlertShape } from '../../../views/shapes/alert.ts'
import { type HealthReport, RECEIVERS } from '../../health.ts'

/** What someone has to do: a verb, with what is wrong, and the page where it is done. */
export interface NeededAction {
  level: AlertLevel
  verb: string
  says: string
  at?: string
}

const MOST = 7

/** What needs action, what has the worst consequence first, in at most seven lines. */
export function needsAction(status: FleetStatus, health: HealthReport): Html {
  const actions = neededActions(status, health)
  if (actions.length === 0) {
    const { total, newFleet } = status.accounts
    if (newFleet !== null) return html`<p class="verdict">Nothing needs action so far; ${newFleetText(newFleet)}.</p>`
    return total === 0
      ? html`<p class="verdict">No accounts yet: <a href="/install">connect the first</a>.</p>`
      : html`<p class="verdict good">All is well.</p>`
  }
  const shown = actions.length > MOST ? actions.slice(0, MOST - 1) : actions
  const more = actions.length - shown.length
  return html`<section class="needs-action" aria-labelledby="needs-action"><h2 id="needs-action">Needs action</h2>
<ul>${shown.map(
    ({ level, verb, says, at }) =>
      html`<li class="${level}">${at === undefined ? html`<b>${verb}</b>` : html`<a href="${at}">${verb}</a>`} <span>${says}</span></li>`,
  )}${more > 0 ? html`<li class="warning"><a href="/alerts">Review</a> <span>and ${formatCount(more)} more</span></li>` : undefined}</ul></section>`
}

export function neededActions(status: FleetStatus, health: HealthReport): NeededAction[] {
  const stuck = health.checks.filter((check) => !check.ok && check.name !== RECEIVERS)
  const atWork = status.daemons.filter(({ silent }) => !silent)
  const allSilent = status.daemons.length > 0 && atWork.length === 0
  const undone = allSilent ? ['every daemon is silent: nothing is refreshed, polled or sent'] : leftUndone(atWork)
  return [
    ...stuck.map(({ name, detail }): NeededAction => ({ level: 'critical', verb: `Fix ${name}`, says: detail })),
    ...undone.map((says): NeededAction => ({ level: 'critical', verb: 'Start a daemon', says })),
    ...heartbeatActions(status),
    ...tokenActions(status),
    ...receiverActions(status),
    ...pollActions(status),
    ...uninstallActions(status),
    ...limitActions(status),
  ]
}

function heartbeatActions({ heartbeat }: FleetStatus): NeededAction[] {
  if (heartbeat === null || (heartbeat.ok && !heartbeat.late && heartbeat.ping?.sent !== false)) return []
  const level = heartbeat.ok ? 'warning' : 'critical'
  return [{ level, verb: 'Check the heartbeat', says: cleanText(heartbeatText(heartbeat), 200), at: '/runbook' }]
}

function uninstallActions({ uninstalls }: FleetStatus): NeededAction[] {
  if (uninstalls.overdue === 0) return []
  const says = `${countOf(uninstalls.overdue, 'uninstall')} overdue`
  return [{ level: 'warning', verb: 'Check uninstalls', says, at: '/accounts?state=uninstalling' }]
}

function receiverActions({ deliveries }: FleetStatus): NeededAction[] {
  return deliveries.receivers.filter(isBroken).map((status) => ({
    ...{ level: status.state === 'disabled' ? 'critical' : 'warning', verb: 'Fix the receiver', at: '/deliveries' },
    says: `${cleanText(status.receiver)} ${cleanText(receiverText(status), 160)}`,
  }))
}

const ENDPOINT_VERB: Record<Cause, string> = {
  credentials: 'Fix the secret',
  refused: 'Check the app',
  unreachable: 'Check the network',
  throttled: 'Wait',
}

function tokenActions(status: FleetStatus): NeededAction[] {
  const { accounts, alerts, tokens, tokenEndpoint } = status
  const { reauthorize, failing } = accounts.byState
  const lost = alerts.worst.find(({ kind, level }) => kind === 'token' && level === 'critical')
  const one = reauthorize === 1 && lost?.hubId != null ? `/accounts/${lost.hubId}` : '/accounts?state=reauthorize'
  const actions: NeededAction[] = []
  const add = (level: AlertLevel, verb: string, says: string, at: string) => actions.push({ level, verb, says, at })
  const isOpen = tokenEndpoint !== null && tokenEndpoint.breaker !== 'closed'
  if (isOpen)
    add(
      'critical',
      ENDPOINT_VERB[tokenEndpoint.cause ?? 'unreachable'],
      endpointStatusText(status),
      '/alerts?kind=fleet',
    )
  const refused = `${reauthorize === 1 ? 'its' : 'their'} refresh token is refused`
  if (reauthorize > 0) add('critical', 'Reconnect', named(reauthorize, lost, refused), one)
  // While the endpoint fails for all, each of them fails with it.
  if (isOpen) return actions
  const overdue = `${countOf(tokens.overdue, 'refresh', 'refreshes')} overdue`
  if (tokens.overdue > 0) add('critical', 'Check refreshes', overdue, '/accounts?sort=refresh')
  const late = alerts.worst.find(({ kind, level }) => kind === 'token' && level === 'warning')
  if (failing > 0) add('warning', 'Check refreshes', named(failing, late, 'refresh fails'), '/accounts?state=failing')
  return actions
}

/** `acme.example.com and 2 more accounts: refresh fails`. */
function named(count: number, first: OpenAlertShape | undefined, what: string): string {
  if (first === undefined) return `${countOf(count, 'account')}: ${what}`
  return `${accountText(first)}${count > 1 ? ` and ${countOf(count - 1, 'more account')}` : ''}: ${what}`
}

function pollActions({ polls, coverage, pollBudget }: FleetStatus): NeededAction[] {
  const actions: NeededAction[] = []
  const add = (verb: string, says: string, at: string) => actions.push({ level: 'warning', verb, says, at })
  if (polls.overdue > 0) add('Check polls', `${countOf(polls.overdue, 'poll')} overdue`, '/accounts?sort=poll')
  const fresh = `${shareText(coverage)} of the accounts have a fresh reading`
  if (isLow(coverage)) add('Check polls', fresh, '/accounts?stale=1')
  if (pollBudget?.short != null) add('Raise limits.callsPerHour', budgetText(pollBudget), '/accounts?sort=poll')
  return actions
}

/** Alerts of tokens and polls have lines of their own above. */
function limitActions({ alerts }: FleetStatus): NeededAction[] {
  const [worst] = alerts.worst.filter(({ kind }) => kind === 'limit')
  return (['critical', 'warning'] as const).flatMap((level): NeededAction[] => {
    const count = alerts[level]
    if (count === 0) return []
    const example = worst?.level === level ? `; worst: ${accountText(worst)}, ${worstText(worst)}` : ''
    const says = `${countOf(count, level === 'critical' ? 'critical alert' : 'warning')}${example}`
    return [{ level, verb: 'Review', says: cleanText(says, 300), at: `/alerts?level=${level}&mark=active` }]
  })
}
