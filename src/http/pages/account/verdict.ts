import { keepUnits } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { needsReconnect } from '../../../views/judge-account.ts'
import type { AccountDetailsShape, VerdictLevel } from '../../../views/shapes/account.ts'
import { isHandled, worstAlert } from '../../../views/silenced.ts'
import { alertPath } from '../parts/alert-links.ts'
import { stateBadge } from '../parts/cells.ts'

const NAMES: Readonly<Record<VerdictLevel, string>> = {
  critical: 'Critical',
  warning: 'Warning',
  unknown: 'Not all is known yet',
  handled: 'Handled',
  ok: 'All is well',
  none: 'Not watched',
}

const LOOK: Readonly<Record<VerdictLevel, string>> = {
  critical: 'critical',
  warning: 'warning',
  ok: 'good',
  unknown: 'off',
  handled: 'off',
  none: 'off',
}

/** How an account is, a line for each finding; `reconnect` is offered where that helps. */
export function verdictPart(account: AccountDetailsShape, reconnect: Html): Html {
  const { alerts, verdict } = account
  const { level, findings } = verdict
  const worst = worstAlert(alerts.filter((alert) => !isHandled(alert)))
  const path = worst === undefined ? undefined : html` <a href="${alertPath(worst)}">Open the worst alert</a>`
  const lines = findings.map(
    ({ about, level: own, says }) =>
      html`<li class="${LOOK[own]}">${keepUnits(says)}${about === 'alerts' ? path : undefined}</li>`,
  )
  return html`<div class="verdict ${LOOK[level]}"><p>${NAMES[level]} ${stateBadge(account.state, level === 'ok')}</p>
<ul class="findings">${lines}</ul>
${needsReconnect(account) ? html`<div class="row">${reconnect}</div>` : undefined}</div>`
}
