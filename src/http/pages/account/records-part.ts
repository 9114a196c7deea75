import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { CurrentSeries } from '../../../views/account-view.ts'
import { table } from '../parts/table.ts'

/** Pairs whose records are shown: an account may watch hundreds, and the full list is the API's. */
const MOST_PAIRS = 10

/** The records behind the associations, per direction of a pair; it says where the provider shows only samples. */
export function recordsPart(series: readonly CurrentSeries[], nameOf: (objectTypeId: string) => Html): Html {
  const pairs = series.filter(({ metric, records }) => metric === 'associations.fullest' && (records?.total ?? 0) > 0)
  if (pairs.length === 0) return html``
  const more = pairs.length - MOST_PAIRS
  return html`<h2>Records at or near their limit</h2>
${pairs.slice(0, MOST_PAIRS).map((pair) => recordsOfPair(pair, nameOf))}
${more > 0 ? html`<p class="soft">${countOf(more, 'more pair')} in the API.</p>` : undefined}`
}

function recordsOfPair({ from = '', to = '', records }: CurrentSeries, nameOf: (id: string) => Html): Html {
  const { shown = 0, total = 0, items = [] } = records ?? {}
  const note = shown < total ? `${formatCount(shown)} of ${formatCount(total)} shown` : formatCount(total)
  return html`<p>${nameOf(from)} to ${nameOf(to)} <span class="soft">(${note})</span></p>
${
  items.length === 0
    ? undefined
    : table(
        'Records',
        [{ title: 'Record' }, { title: 'Id' }, { title: 'Associations', number: true }],
        items.map(({ label, objectId, usage }) => [
          cleanText(label ?? '', 80) || '(no name)',
          String(objectId),
          usage === undefined ? 'at its limit' : formatCount(usage),
        ]),
      )
}`
}
