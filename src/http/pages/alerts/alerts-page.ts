import type { AlertLevel } from '../../../alerts/alert.ts'
import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAlert } from '../../../views/fleet-status.ts'
import type { SilenceView } from '../../../views/silenced.ts'
import { type AcknowledgePath, alertTable } from '../parts/alert-table.ts'
import { silenceTable } from '../parts/silence-table.ts'
import { nothing } from '../parts/table.ts'

export interface AlertsPage {
  alerts: readonly TimedAlert[]
  counts: Record<AlertLevel, number>
  level: AlertLevel | undefined
  acknowledge: AcknowledgePath
  /** In force. */
  silences: readonly SilenceView[]
  now: number
}

export function alertsPage({ alerts, counts, level, acknowledge, silences, now }: AlertsPage): Html {
  const total = level === undefined ? counts.critical + counts.warning : counts[level]
  const more = total - alerts.length
  return html`<p class="filter">${filter(undefined, 'all', counts.critical + counts.warning, level)}${filter('critical', 'critical', counts.critical, level)}${filter('warning', 'warning', counts.warning, level)}</p>
${alerts.length === 0 ? nothing('No alert is open.') : alertTable(alerts, now, 'with account', { acknowledge })}
${more > 0 ? html`<p class="soft">${countOf(more, 'more alert')}, all of them in the API.</p>` : undefined}
<h2>Silences in force</h2>
${silences.length === 0 ? nothing('None. To make one: plimsoll alerts silence.') : silenceTable(silences, now)}`
}

function filter(level: AlertLevel | undefined, name: string, count: number, chosen: AlertLevel | undefined): Html {
  const address = level === undefined ? '/alerts' : `/alerts?level=${level}`
  return html`<a href="${address}"${level === chosen ? html` aria-current="true"` : undefined}>${name} ${count}</a>`
}
