import { seriesName } from '../../../alerts/series-name.ts'
import type { Series } from '../../../limits/series.ts'
import { formatDaysLeft } from '../../../text/days-left.ts'
import { formatPercent } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'

export type NearLimitNumbers = Omit<Series, 'id'> & { daysLeft: number | null }

/** How near a limit is, in a cell: `96 %, about 12 days left`, and which one. */
export function nearLimitNote(limit: NearLimitNumbers): Html {
  const { percent, daysLeft } = limit
  const full = percent === null ? '' : formatPercent(percent)
  const days = daysLeft === null || daysLeft <= 0 ? '' : formatDaysLeft(daysLeft)
  const near = [full, days].filter((text) => text !== '').join(', ')
  return html`${near}<br><span class="soft">${seriesName(limit)}</span>`
}
