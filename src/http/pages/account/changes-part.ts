import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import type { AccountSeries } from './account-series.ts'
import { type SeriesChange, seriesChanges } from './series-changes.ts'
import { seriesLink } from './series-link.ts'

const MOST_CHANGES = 20
const WEEK_MS = 7 * 86_400_000

export function changesPart(all: AccountSeries): Html {
  const changes = seriesChanges(all.timeline, all.now - WEEK_MS, MOST_CHANGES)
  return html`<section id="changes"><h2>Last changes</h2>
${
  changes.length === 0
    ? nothing('Nothing has changed in the last seven days.')
    : table(
        'Last changes',
        [{ title: 'When' }, { title: 'What' }, { title: 'Before', number: true }, { title: 'After', number: true }],
        changes.map((change) => {
          const series = all.find(change.seriesId)
          return [
            when(change.at, all.now),
            series === undefined ? change.seriesId : seriesLink(all, series),
            amount(change.before, 'appeared'),
            amount(change.after, 'disappeared'),
          ]
        }),
      )
}</section>`
}

function amount(value: SeriesChange['before'], absent: string): Html {
  if (value === undefined) return html`<span class="soft">${absent}</span>`
  const { usage, limit } = value
  return html`${formatCount(usage)}${limit === null ? undefined : html` <span class="soft">of ${formatCount(limit)}</span>`}`
}
