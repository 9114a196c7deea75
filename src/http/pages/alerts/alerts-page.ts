import type { AlertLevel } from '../../../alerts/alert.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAlert } from '../../../views/open-alert-json.ts'
import type { SilenceView } from '../../../views/silenced.ts'
import { alertTable } from '../parts/alert-table.ts'
import { choice, type FilterValues, select, withQuery } from '../parts/filter-form.ts'
import { silenceTable } from '../parts/silence-table.ts'
import { nothing } from '../parts/table.ts'
import type { AlertQuery } from './alert-query.ts'

export interface AlertsPage {
  alerts: readonly TimedAlert[]
  /** Of all that fit but for the level. */
  counts: Record<AlertLevel, number>
  query: AlertQuery
  /** Where the next page begins. */
  next: string | undefined
  /** In force. */
  silences: readonly SilenceView[]
  /** Of the forms, for whoever may change something. */
  token: string | undefined
  now: number
}

export function alertsPage({ alerts, counts, query, next, silences, token, now }: AlertsPage): Html {
  const { after, ...filter } = query
  const isNarrowed = Object.values(query).some((value) => value !== undefined)
  return html`<p class="filter" data-live="levels">${levelLink(undefined, counts.critical + counts.warning, filter)}${levelLink('critical', counts.critical, filter)}${levelLink('warning', counts.warning, filter)}</p>
${filterForm(filter)}
<div data-live="alerts">
${alerts.length === 0 ? nothing(isNarrowed ? 'No open alert fits.' : 'No alert is open.') : alertTable(alerts, now, 'with account', { mayWrite: token !== undefined })}
${pager(filter, after, next)}
</div>
<h2 id="silences">Silences in force</h2>
${silences.length === 0 ? nothing('None.') : silenceTable(silences, now, token)}
${token === undefined ? undefined : html`<p><a class="button" href="/silences/new">New silence</a></p>`}`
}

function levelLink(level: AlertLevel | undefined, count: number, filter: FilterValues): Html {
  const current = level === filter.level ? html` aria-current="true"` : undefined
  return html`<a href="${withQuery('/alerts', { ...filter, level })}"${current}>${level ?? 'all'} ${count}</a>`
}

const KIND = choice('kind', 'Kind', 'every kind', ['limit', 'token', 'poll', 'fleet', 'delivery'])
const MARK = {
  name: 'mark',
  label: 'State',
  of: [
    ['', 'every state'],
    ['told', 'not taken up'],
    ['acknowledged', 'acknowledged'],
    ['silenced', 'silenced'],
  ],
} as const

function filterForm({ level, kind, account, mark }: Omit<AlertQuery, 'after'>): Html {
  return html`<form action="/alerts" class="search" role="search">
${level === undefined ? undefined : html`<input type="hidden" name="level" value="${level}">`}
<label>Account <input name="account" value="${account ?? ''}" placeholder="domain or number" autocomplete="off"></label>
${select(KIND, kind)}
${select(MARK, mark)}
<button>Show</button>
${[kind, account, mark].some((value) => value !== undefined) ? html`<a href="${withQuery('/alerts', { level })}">Show all</a>` : undefined}
</form>`
}

function pager(filter: FilterValues, after: string | undefined, next: string | undefined): Html | undefined {
  if (after === undefined && next === undefined) return undefined
  const first = html`<a href="${withQuery('/alerts', filter)}">First page</a>`
  const following = html`<a href="${withQuery('/alerts', { ...filter, after: next })}" rel="next">Next page</a>`
  return html`<nav class="pager" aria-label="Pages">${after === undefined ? undefined : first}${next === undefined ? undefined : following}</nav>`
}
