import type { FastifyRequest } from 'fastify'
import { type ChangedAccount, changeText, describeChanges } from '../../delivery/describe/describe-changes.ts'
import { changes } from '../../operations/changes.ts'
import { countOf } from '../../text/format-number.ts'
import { type Html, html } from '../../text/html.ts'
import { readForPage } from '../field-schemas.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { htmlTable } from './parts/tables.ts'

/** Most accounts of each group: most are folded. */
const CHANGES_A_PAGE = 500
/** At once: accounts that are lost or gone come before those that were connected. */
const ROWS_AT_ONCE = 25
const CONNECTED_AT_ONCE = 8

const SINCE = { '1h': 'Last hour', '24h': '24 hours', '7d': '7 days' }

/** Changes of all accounts since a moment. */
export async function showChanges(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const { line, note, more, groups } = describeChanges(await readForPage(changes, deps, request, CHANGES_A_PAGE))
  const chosen = (request.query as { since?: string }).since ?? '24h'
  const chips = Object.entries(SINCE).map(
    ([value, text]) =>
      html`<a href="/changes?since=${value}"${value === chosen ? html` aria-current="true"` : undefined}>${text}</a> `,
  )
  const soft = (text: string | undefined) => (text === undefined ? undefined : html`<p class="soft">${text}</p>`)
  const body = html`<nav class="chips" aria-label="Time">${chips}</nav>
<div data-live="changes">
<p>${line}</p>
${soft(note)}
${groups.map(({ title, accounts }) => html`<h2>${title}</h2>\n${changeTable(title, accounts, accounts.some(({ what }) => what !== '') ? ROWS_AT_ONCE : CONNECTED_AT_ONCE)}`)}
${soft(more)}
</div>`
  return { at: '/changes', title: 'Changes', body }
}

/** A row for each account, with its worst change; the others are folded into it, and many rows below the first ones. */
function changeTable(title: string, accounts: readonly ChangedAccount[], most: number): Html {
  const [first, folded] = [accounts.slice(0, most), accounts.slice(most)]
  return html`${rowsOf(title, first)}
${folded.length === 0 ? undefined : html`<details><summary>${countOf(folded.length, 'more account')}</summary>${rowsOf(title, folded)}</details>`}`
}

function rowsOf(title: string, accounts: readonly ChangedAccount[]): Html {
  const hasMore = accounts.some(({ others }) => others.length > 0)
  return htmlTable(
    title,
    ['Account', hasMore ? 'Worst change' : 'Change', hasMore && 'All', 'When'],
    accounts.map(({ subject, hubId, at, counted, others, ...worst }) => [
      hubId === undefined ? subject : html`<a href="/accounts/${hubId}">${subject}</a>`,
      changeText(worst),
      hasMore &&
        (others.length === 0
          ? ''
          : html`<details><summary>${counted}<span class="unseen"> of ${subject}</span></summary>${others.map((one) => html`${changeText(one)}<br>`)}</details>`),
      html`<span class="whole">${at}</span>`,
    ]),
  )
}
