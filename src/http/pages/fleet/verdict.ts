import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { isLow, shareText } from '../../../views/coverage-status.ts'
import type { FleetStatus } from '../../../views/fleet-status.ts'
import { pollBudgetText } from '../../../views/poll-budget.ts'
import { isBroken } from '../../../views/receiver-status.ts'
import { type HealthReport, RECEIVERS } from '../../health.ts'

/** One sentence that says whether somebody has to do something. */
export function verdict(
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

function isInTrouble(endpoint: FleetStatus['tokenEndpoint']): boolean {
  return endpoint !== null && endpoint.breaker !== 'closed'
}
