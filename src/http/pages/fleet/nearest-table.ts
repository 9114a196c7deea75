import { seriesName } from '../../../alerts/series-name.ts'
import { formatDaysLeft } from '../../../text/days-left.ts'
import { type Html, html } from '../../../text/html.ts'
import type { NearLimit } from '../../../views/nearest-limits.ts'
import type { TimedAlert } from '../../../views/open-alert-json.ts'
import { accountLink } from '../parts/badges.ts'
import { fullness } from '../parts/bar.ts'
import { table } from '../parts/table.ts'

/** The accounts that are nearest to a limit, each with that limit. */
export function nearestTable(limits: readonly ShownLimit[]): Html {
  const rows = limits.map(({ limit, level, spark }) => [
    html`${accountLink(limit)}<br><span class="soft">${seriesName(limit)}</span>`,
    html`${fullness(limit, level)}${spark === undefined ? undefined : html`<br>${spark}`}`,
    daysLeftOf(limit),
  ])
  const columns = ['Account', 'Used, last 7 days', 'Days left'].map((title) => ({ title }))
  return html`${table('Nearest limits', columns, rows)}
<p><a href="/accounts?sort=nearest">All accounts, nearest limit first</a></p>`
}

export interface ShownLimit {
  limit: NearLimit
  level: TimedAlert['level'] | undefined
  /** How it moved, where that can be read. */
  spark: Html | undefined
}

/** Its bar has the color that it has among the open alerts. */
export function levelOf(limit: NearLimit, alerts: readonly TimedAlert[]): TimedAlert['level'] | undefined {
  const name = seriesName(limit)
  return alerts.find(
    ({ hubId, series }) => hubId === limit.hubId && series !== undefined && seriesName(series) === name,
  )?.level
}

function daysLeftOf({ daysLeft }: NearLimit): Html | string {
  return daysLeft === null ? html`<span class="soft none">–</span>` : formatDaysLeft(daysLeft)
}
