import { countOf, keepUnits } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { needsReconnect } from '../../../views/judge-account.ts'
import { type AccountDetailsShape, VERDICT_LEVELS, type VerdictLevel } from '../../../views/shapes/account.ts'
import { isHandled, worstAlert } from '../../../views/silenced.ts'
import { alertPath } from '../parts/alert-links.ts'
import { stateBadge } from '../parts/cells.ts'

const NAMES: Readonly<Record<Exclude<VerdictLevel, 'handled'>, string>> = {
  critical: 'Critical',
  warning: 'Warning',
  unknown: 'Not all is known yet',
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
      html`<li class="${LOOK[own] ?? 'off'}">${keepUnits(says)}${about === 'alerts' ? path : undefined}</li>`,
  )
  return html`<div class="verdict ${LOOK[level] ?? 'off'}"><p>${level === 'handled' ? handledText(alerts) : NAMES[level]} ${stateBadge(account.state, level === 'ok')}</p>
<ul class="findings">${lines}</ul>
${needsReconnect(account) ? reconnect : undefined}</div>`
}

/** `5 alerts silenced, 1 alert acknowledged`. */
function handledText(alerts: AccountDetailsShape['alerts']): string {
  const silenced = alerts.filter(({ silencedBy }) => silencedBy !== undefined).length
  const parts: [number, string][] = [
    [silenced, 'silenced'],
    [alerts.length - silenced, 'acknowledged'],
  ]
  return parts.flatMap(([count, how]) => (count === 0 ? [] : [`${countOf(count, 'alert')} ${how}`])).join(', ')
}
