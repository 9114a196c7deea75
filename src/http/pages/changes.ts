import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { readChanges } from '../../alerts/read-changes.ts'
import { type DescribedChange, describeChanges } from '../../delivery/email/describe-changes.ts'
import { type Html, html } from '../../text/html.ts'
import { check, momentOrAgo } from '../query.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { htmlTable } from './parts/tables.ts'

/** Of each group. */
const CHANGES_A_PAGE = 100

const SINCE = { '1h': 'Last hour', '24h': '24 hours', '7d': '7 days' }
const QUERY = z.object({ since: momentOrAgo('24h') })

/** What changed in all accounts since a moment. */
export async function showChanges({ store, keys, clock }: WebDeps, { query }: FastifyRequest): Promise<OperatorPage> {
  const { since } = check(QUERY, query)
  const now = clock.now()
  const changes = await readChanges({ store, keys }, { since: since(now), until: now, mostOfEach: CHANGES_A_PAGE })
  const { line, note, more, groups } = describeChanges(changes)
  const chosen = (query as { since?: string }).since ?? '24h'
  const chips = Object.entries(SINCE).map(
    ([value, text]) =>
      html`<a href="/changes?since=${value}"${value === chosen ? html` aria-current="true"` : undefined}>${text}</a> `,
  )
  const soft = (text: string | undefined) => (text === undefined ? undefined : html`<p class="soft">${text}</p>`)
  const body = html`<nav class="chips" aria-label="Time">${chips}</nav>
<div data-live="changes">
<p>${line}</p>
${soft(note)}
${groups.map(({ title, changes }) => html`<h2>${title}</h2>\n${changeTable(title, changes)}`)}
${soft(more)}
</div>`
  return { at: '/changes', title: 'Changes', body }
}

function changeTable(title: string, changes: readonly DescribedChange[]): Html {
  // An account that came or went is all that its line is about.
  const hasWhat = changes.some(({ what }) => what !== '')
  return htmlTable(
    title,
    ['Account', hasWhat && 'What', 'Change', 'When'],
    changes.map(({ subject, hubId, what, moved, at }) => [
      hubId === undefined ? subject : html`<a href="/accounts/${hubId}">${subject}</a>`,
      hasWhat && what,
      moved,
      html`<span class="whole">${at}</span>`,
    ]),
  )
}
