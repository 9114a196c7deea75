import type { AlertLevel } from '../../../alerts/alert.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountAlertsShape } from '../../../views/shapes/alert.ts'
import type { SilenceView } from '../../../views/silenced.ts'
import { formTokenField } from '../../access/form-token.ts'
import { accountAlerts } from '../parts/account-alerts.ts'
import { choice, type FilterValues, select, withQuery } from '../parts/filter-form.ts'
import { nothing, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import type { AlertQuery } from './alert-query.ts'

export interface AlertsPage {
  accounts: readonly AccountAlertsShape[]
  /** Of all that fit but for the level. */
  counts: Record<AlertLevel, number>
  query: AlertQuery
  /** Where the next page begins. */
  next: string | undefined
  /** In force. */
  silences: readonly SilenceView[]
  /** Of the forms, for a reader who may change something. */
  token: string | undefined
  now: number
}

export function alertsPage({ accounts, counts, query, next, silences, token, now }: AlertsPage): Html {
  const { after, ...filter } = query
  const isNarrowed = Object.values(query).some((value) => value !== undefined)
  const mayWrite = token !== undefined
  const list = accountAlerts(accounts, now, { mayWrite, choose: mayWrite })
  return html`<p class="filter" data-live="levels">${levelLink(undefined, counts.critical + counts.warning, filter)}${levelLink('critical', counts.critical, filter)}${levelLink('warning', counts.warning, filter)}</p>
${filterForm(filter)}
<div data-live="alerts">
${accounts.length === 0 ? nothing(isNarrowed ? 'No open alert fits.' : 'No alert is open.') : token === undefined ? list : selectionForm(list, filter, token)}
${pager(filter, after, next)}
</div>
<h2 id="silences">Silences in force</h2>
${silences.length === 0 ? nothing('None.') : silenceTable(silences, now, token)}
${token === undefined ? undefined : html`<p><a class="button" href="/silences/new">New silence</a></p>`}`
}

const FOR = {
  name: 'for',
  label: 'for',
  of: [
    ['1h', '1 hour'],
    ['4h', '4 hours'],
    ['24h', '24 hours'],
    ['7d', '7 days'],
  ],
} as const

/** Around the list: what is chosen in it is acknowledged or silenced at once. */
function selectionForm(list: Html, { level, kind }: FilterValues, token: string): Html {
  return html`<form method="post" action="/alerts/selected" class="selection">${formTokenField(token)}${hidden('level', level)}${hidden('kind', kind)}
${list}
<p class="with-selected"><label>Comment <input name="comment" maxlength="500" autocomplete="off"></label>
<button name="do" value="acknowledge">Acknowledge selected</button>
<button name="do" value="silence" class="second">Silence selected</button> ${select(FOR, '4h')}
<span class="soft">A silence of an account covers its later alerts, too.</span></p>
</form>`
}

function hidden(name: string, value: string | undefined): Html | undefined {
  return value === undefined ? undefined : html`<input type="hidden" name="${name}" value="${value}">`
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
    ['active', 'active'],
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

/** The silences in force; `token`: of the forms that end one, for whoever may. */
function silenceTable(silences: readonly SilenceView[], now: number, token?: string): Html {
  return table(
    'Silences in force',
    [
      { title: 'Silence' },
      { title: 'What' },
      { title: 'Why' },
      { title: 'By' },
      { title: 'Ends' },
      { title: 'Open alerts', number: true },
      ...(token === undefined ? [] : [{ title: 'To do' }]),
    ],
    silences.map(({ id, matchers, comment, author, endsAt, openAlerts }) => [
      html`<code id="${id}">${id}</code>`,
      cleanText(matchers.map(({ name, value }) => `${name}=${value}`).join(' '), 300),
      cleanText(comment, 500),
      cleanText(author),
      when(Date.parse(endsAt), now),
      String(openAlerts),
      ...(token === undefined ? [] : [endNow(id, token)]),
    ]),
  )
}

function endNow(id: string, token: string): Html {
  return html`<form method="post" action="/silences/${id}/end">${formTokenField(token)}<button class="small">End now<span class="unseen"> ${id}</span></button></form>`
}
