import { countedRecords } from '../../../alerts/series-name.ts'
import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { fullness } from '../parts/bar.ts'
import { daysLeftNote, noDaysLeft } from '../parts/days-left-note.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import type { AccountSeries, ShownSeries } from './account-series.ts'
import { seriesLink, seriesLinkAt, sparklineOf } from './series-link.ts'

/** Rows of one table: an account may watch hundreds of pairs, and the full list is the API's. */
const MOST_ROWS = 100

export function customPropertiesPart(all: AccountSeries): Html {
  const found = all.current.filter(({ name }) => name.from === undefined).toSorted((a, b) => rank(b) - rank(a))
  const rows = found.slice(0, MOST_ROWS)
  const current = rows.flatMap((one) => one.current ?? [])
  const more = found.length - rows.length
  return html`<section id="custom-properties"><h2>Custom properties</h2>
${
  rows.length === 0
    ? nothing('Not read yet.')
    : html`<p class="soft">As read ${when(current[0]?.measuredAt ?? null, all.now)}.${noDaysLeft(current)}</p>
${table(
  'Custom properties',
  [{ title: 'What' }, { title: 'How full' }, { title: `Last ${all.range}` }],
  rows.map((one) => [seriesLink(all, one), howFull(one), sparklineOf(all, one)]),
)}
${more > 0 ? html`<p class="soft">${countOf(more, 'more object type')} in the API.</p>` : undefined}`
}
</section>`
}

/** The account's own sum first, then the fullest. */
function rank({ name, current }: ShownSeries): number {
  return name.metric === 'customProperties.overall' ? Number.MAX_VALUE : (current?.percent ?? -1)
}

function howFull({ current, level }: ShownSeries): Html {
  return current === undefined ? html`–` : html`${fullness(current, level)}${daysLeftNote(current)}`
}

/** One row per pair: its three series side by side. */
export function associationsPart(all: AccountSeries, nameOf: (objectTypeId: string) => Html): Html {
  const ofPairs = all.current.filter(({ name }) => name.from !== undefined)
  const pairs = [...Map.groupBy(ofPairs, ({ name }) => `${name.from}/${name.to}`).values()]
  if (pairs.length === 0) return html``
  const rows = pairs.toSorted((a, b) => fullest(b) - fullest(a))
  const more = rows.length - MOST_ROWS
  return html`<section id="associations"><h2>Associations</h2>
<p class="soft">Records at or near their limit of associations, per direction of a pair of object types. As read ${when(rows[0]?.[0]?.current?.measuredAt ?? null, all.now)}.</p>
${table(
  'Associations',
  [
    { title: 'From' },
    { title: 'To' },
    { title: 'At limit', number: true },
    { title: 'Near limit', number: true },
    { title: 'Fullest record' },
    { title: `Last ${all.range}` },
  ],
  rows.slice(0, MOST_ROWS).map((pair) => pairRow(all, pair, nameOf)),
)}
${more > 0 ? html`<p class="soft">${countOf(more, 'more pair')} in the API.</p>` : undefined}
</section>`
}

function pairRow(all: AccountSeries, pair: readonly ShownSeries[], nameOf: (id: string) => Html): Html[] {
  const [first] = pair
  const named = (metric: string) => pair.find(({ name }) => name.metric === metric)
  const fullestOne = named('associations.fullest')
  return [
    nameOf(first?.name.from ?? ''),
    nameOf(first?.name.to ?? ''),
    ...[named('associations.atLimit'), named('associations.nearLimit')].map((one) => countCell(all, one)),
    fullestOne === undefined ? html`–` : howFull(fullestOne),
    fullestOne === undefined ? html`–` : seriesLinkAt(all, fullestOne, sparklineOf(all, fullestOne), fullestOne.title),
  ]
}

function countCell(all: AccountSeries, series: ShownSeries | undefined): Html {
  if (series?.current === undefined) return html`–`
  const { usage } = series.current
  const count = html`<span class="${series.level === undefined ? '' : `is-${series.level}`}">${formatCount(usage)}</span>`
  return seriesLinkAt(all, series, count, countedRecords(series.name, usage))
}

function fullest(pair: readonly ShownSeries[]): number {
  return Math.max(
    ...pair.map(({ name, current }) =>
      name.metric === 'associations.atLimit' ? (current?.usage ?? 0) * 1e6 : (current?.percent ?? 0),
    ),
  )
}
