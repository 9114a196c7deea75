import { seriesName } from '../../../alerts/series-name.ts'
import { formatDaysLeft } from '../../../text/days-left.ts'
import { type Html, html } from '../../../text/html.ts'
import type { NearLimit } from '../../../views/nearest-limits.ts'
import { accountLink } from '../parts/badges.ts'
import { fullness } from '../parts/bar.ts'
import { table } from '../parts/table.ts'

/** The accounts that are nearest to a limit, each with that limit. */
export function nearestTable(limits: readonly NearLimit[]): Html {
  const rows = limits.map((limit) => [accountLink(limit), seriesName(limit), fullness(limit), daysLeftOf(limit)])
  return html`${table(
    'Nearest limits',
    [{ title: 'Account' }, { title: 'What' }, { title: 'How full' }, { title: 'Days left' }],
    rows,
  )}
<p><a href="/accounts?sort=nearest">All accounts, nearest limit first</a></p>`
}

function daysLeftOf({ daysLeft }: NearLimit): Html | string {
  return daysLeft === null ? html`<span class="soft">–</span>` : formatDaysLeft(daysLeft)
}
