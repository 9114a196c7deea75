import { countOf, formatCount } from '../../../../text/format-number.ts'
import { formatMoment } from '../../../../text/format-time.ts'
import { type Html, html } from '../../../../text/html.ts'
import { nothing, table } from '../../parts/table.ts'
import type { Track } from './track.ts'

/** The numbers that a chart is drawn from, newest first, with the times in which nothing was read. */
export function pointsTable(caption: string, track: Track, most: number): Html {
  const rows = track.flatMap((run, n) => [
    ...(n === 0 ? [] : [[formatMoment(track[n - 1]?.at(-1)?.to ?? null), 'nothing read', '']]),
    ...run.map(({ from, usage, limit }) => [
      formatMoment(from),
      formatCount(usage),
      limit === null ? 'none' : formatCount(limit),
    ]),
  ])
  if (rows.length === 0) return nothing('Nothing was read of it in this time.')
  const columns = [{ title: 'From' }, { title: 'Usage', number: true }, { title: 'Limit', number: true }]
  const more = rows.length - most
  return html`${table(caption, columns, rows.reverse().slice(0, most))}
${more > 0 ? html`<p class="soft">${countOf(more, 'older row')} in the CSV.</p>` : undefined}`
}
