import type { FastifyRequest } from 'fastify'
import { AUDIT_ACTIONS, AUDITED, type AuditEntry } from '../../audit/audited.ts'
import { auditList } from '../../operations/list-audit.ts'
import { formatSecond } from '../../text/format-time.ts'
import { type Html, html } from '../../text/html.ts'
import { didText, whoText } from '../../views/audit-entries.ts'
import { readForPage } from '../field-schemas.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { htmlTable, nothing } from './parts/tables.ts'

const A_PAGE = 50
const SINCE = { '24h': '24 hours', '7d': '7 days', '90d': '90 days' }

/** The audit: actions, with their authors. */
export async function showAudit(deps: WebDeps, request: FastifyRequest): Promise<OperatorPage> {
  const page = await readForPage(auditList, deps, request, A_PAGE)
  const written = { since: '7d', ...(request.query as Record<string, string>) }
  const body = html`${chips(written)}
${filterForm(written)}
<div data-live="audit">
${page.items.length === 0 ? nothing('No entries.') : auditTable(page.items)}
</div>
${pager(written, page.next)}`
  return { at: '/audit', title: 'Audit', body }
}

function addressWith(query: Readonly<Record<string, string>>, changed: Record<string, string | undefined>): string {
  const { since, who, action, account } = query
  const entries = Object.entries({ since, who, action, account, ...changed })
  const given = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '')
  return `/audit?${new URLSearchParams(given)}`
}

function chips(query: Readonly<Record<string, string>>): Html {
  const links = Object.entries(SINCE).map(
    ([value, text]) =>
      html`<a href="${addressWith(query, { since: value })}"${value === query.since ? html` aria-current="true"` : undefined}>${text}</a> `,
  )
  return html`<nav class="chips" aria-label="Time">${links}</nav>`
}

function filterForm({ since, who, action, account }: Readonly<Record<string, string>>): Html {
  const options = AUDIT_ACTIONS.map(
    (name) =>
      html`<option value="${name}"${name === action ? html` selected` : undefined}>${AUDITED[name].did}</option>`,
  )
  return html`<form method="get" action="/audit" class="search" role="search">
<input type="hidden" name="since" value="${since}">
<label>Who <input name="who" value="${who}" maxlength="100" autocomplete="off"></label>
<label>Did <select name="action"><option value="">anything</option>${options}</select></label>
<label>Account <input name="account" value="${account}" inputmode="numeric" maxlength="16" autocomplete="off" placeholder="hub id"></label>
<button>Show</button>
</form>`
}

function auditTable(entries: readonly AuditEntry[]): Html {
  return htmlTable(
    'Audit',
    ['When', 'Who', 'Did', 'What', 'From'],
    entries.map((entry) => [
      html`<span class="whole">${formatSecond(entry.at)}</span>`,
      whoText(entry),
      didText(entry),
      html`${objectOf(entry)}`,
      entry.who.from ?? '',
    ]),
  )
}

/** Object of an action, and its details. */
function objectOf({ hubId, subject, detail }: AuditEntry): Html {
  const account = hubId === undefined ? undefined : html`<a href="/accounts/${hubId}">account ${hubId}</a> `
  return html`${account}${subject === undefined ? undefined : html`<code>${subject}</code> `}${detail}`
}

function pager(query: Readonly<Record<string, string>>, next: string | undefined): Html | undefined {
  if (next === undefined) return undefined
  return html`<nav class="row" aria-label="Pages"><a href="${addressWith(query, { after: next })}">Older entries</a></nav>`
}
