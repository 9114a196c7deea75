import type { SampleRecord, Samples } from '../../limits/samples.ts'
import { cleanText } from '../../text/clean-text.ts'
import { countOf, formatCount } from '../../text/format-number.ts'
import { type Html, html } from '../../text/html.ts'
import { table } from './table.ts'

/** The full list is the API's. */
const MOST_ROWS = 100

/** The records at or near their limit that the provider shows, pair by pair; nothing where it shows none. */
export function recordTable(samples: Samples, typeName: (objectTypeId: string) => Html): Html {
  const rows = Object.entries(samples).flatMap(([pair, { atLimit, nearLimit }]) => {
    const near = nearLimit.toSorted((a, b) => (b.usage ?? 0) - (a.usage ?? 0))
    return [...atLimit, ...near].map((record) => ({ pair, record }))
  })
  if (rows.length === 0) return html``
  const withLabels = rows.some(({ record }) => record.label !== undefined)
  const more = rows.length - MOST_ROWS
  return html`<h3>Records at or near their limit</h3>
<p class="soft">A sample: the provider never shows all of them.</p>
${table(
  'Records at or near their limit',
  [
    ...[{ title: 'From' }, { title: 'To' }],
    ...(withLabels ? [{ title: 'Record' }] : []),
    ...[
      { title: 'Id', number: true },
      { title: 'Associations', number: true },
    ],
  ],
  rows.slice(0, MOST_ROWS).map(({ pair, record }) => {
    const [from = '', to = ''] = pair.split('/')
    const label = withLabels ? [labelOf(record)] : []
    return [typeName(from), typeName(to), ...label, String(record.objectId), usageOf(record)]
  }),
)}
${more > 0 ? html`<p class="soft">${countOf(more, 'more record')} in the API.</p>` : undefined}`
}

function labelOf({ label }: SampleRecord): string {
  const name = cleanText(label ?? '', 80)
  return name === '' ? '(no name)' : name
}

function usageOf({ usage }: SampleRecord): string {
  return usage === undefined ? 'at its limit' : formatCount(usage)
}
