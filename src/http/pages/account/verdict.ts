import { keepUnits } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { needsReconnect } from '../../../views/judge-account.ts'
import { type AccountDetailsShape, VERDICT_LEVELS, type VerdictLevel } from '../../../views/shapes/account.ts'
import { isHandled, worstAlert } from '../../../views/silenced.ts'
import { alertPath } from '../parts/alert-links.ts'
import { stateBadge } from '../parts/cells.ts'

const NAMES: Readonly<Record<VerdictLevel, string>> = {
  critical: 'Critical',
  warning: 'Warning',
  unknown: 'Unknown',
  handled: 'All alerts are acknowledged or silenced',
  ok: 'All is well',
  none: 'Not watched',
}

const LOOK: Partial<Record<VerdictLevel, string>> = { critical: 'critical', warning: 'warning', ok: 'good' }

/** How an account is, a line for each finding, the worst first; `reconnect` is offered where that helps. */
export function verdictPart(account: AccountDetailsShape, reconnect: Html): Html {
  const { alerts, verdict } = account
  const { level, findings } = verdict
  const worst = worstAlert(alerts.filter((alert) => !isHandled(alert)))
  const path = worst === undefined ? undefined : html` <a href="${alertPath(worst)}">Open the worst alert</a>`
  const rank = (one: VerdictLevel) => VERDICT_LEVELS.indexOf(one)
  const worstFirst = findings.toSorted((a, b) => rank(a.level) - rank(b.level))
  const lines = worstFirst.map(
    ({ about, level: own, says }) =>
      html`<li class="${(about === 'limits' && own === 'ok' && account.pollFailure !== null ? undefined : LOOK[own]) ?? 'off'}">${keepUnits(says)}${about === 'alerts' ? path : undefined}</li>`,
  )
  return html`<div class="verdict ${LOOK[level] ?? 'off'}"><p>${NAMES[level]} ${stateBadge(account.state, level === 'ok')}</p>
<ul class="findings">${lines}</ul>
${needsReconnect(account) ? reconnect : toDo(account)}</div>`
}

function toDo({ state, parkedUntil }: AccountDetailsShape): Html | undefined {
  const until = `Nothing until ${formatTime(parkedUntil ?? '')}. HubSpot paused this account; Plimsoll tries again by itself.`
  const text = state === 'failing' ? 'Press Refresh now. If it fails again, check the status page of HubSpot.' : until
  return state === 'failing' || state === 'parked' ? html`<p><b>What to do:</b> ${text}</p>` : undefined
}
