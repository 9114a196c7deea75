import type { Alert } from '../../../alerts/alert.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { Carried } from '../../../views/deliveries.ts'
import { accountLink } from './badges.ts'

/** The alerts of a delivery, a line each; `type` is what its message is where nothing is known of them. */
export function carriedAlerts(type: string, carried: Carried | undefined): Html {
  if (carried === undefined || carried.alerts.length + carried.more === 0)
    return html`<span class="soft">${type}</span>`
  const lines = carried.alerts.map(line)
  const more =
    carried.more === 0
      ? undefined
      : html`<span class="soft">${carried.alerts.length === 0 ? countOf(carried.more, 'alert') : `and ${carried.more} more`}</span>`
  return html`${lines}${more}`
}

function line({ account, level, status, ...alert }: Alert): Html {
  const what = `${status === 'resolved' ? 'resolved' : level}: ${about(alert)}`
  return html`${account === undefined ? undefined : html`${accountLink(account)} `}<span class="soft">${what}</span><br>`
}

function about({ kind, series, rule }: Pick<Alert, 'kind' | 'series' | 'rule'>): string {
  if (series !== undefined) return seriesName(series)
  if (kind === 'token') return 'tokens'
  if (kind === 'poll') return 'reading its limits'
  return kind === 'delivery' ? 'a receiver' : cleanText(rule, 60)
}
