import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import {
  ACCOUNT_SORTS,
  type AccountSort,
  ALERT_FILTERS,
  type Place,
  placeText,
} from '../../accounts/search/account-query.ts'
import { limitText, seriesName } from '../../alerts/series-name.ts'
import { tagNamed } from '../../operations/searches.ts'
import { ACCOUNT_STATES, type AccountState, type DueKind } from '../../redis/keys.ts'
import { defined } from '../../runtime/defined.ts'
import { daysLeftText, formatCount } from '../../text/format-number.ts'
import { type Html, html } from '../../text/html.ts'
import { STATE_NAMES } from '../../views/judge-account.ts'
import { type ListedAccount, readAccountList, WITHOUT_LIMIT, withClosestLimit } from '../../views/list-accounts.ts'
import { check, oneOf, optional } from '../query.ts'
import { placeInAccounts } from '../search-accounts.ts'
import type { WebDeps } from '../web-deps.ts'
import type { OperatorPage } from './page.ts'
import { badge, fullness, NONE, nameLink, readAge } from './parts/cells.ts'
import { choice, type FilterValues, filters, hidden, select, withQuery } from './parts/forms.ts'
import { htmlTable, nothing, sortLink, type TableColumn } from './parts/tables.ts'

const ACCOUNTS_A_PAGE = 50

const once = (most: number) => z.string('must be given once').max(most, 'is too long')

const OVERDUE_KINDS = ['refresh', 'poll', 'uninstall'] as const satisfies DueKind[]

/** Query of the page, all of it in the address: a bookmark shows the same list. */
const ACCOUNT_SEARCH = z.object({
  q: optional(once(200).trim()),
  state: optional(oneOf(ACCOUNT_STATES)),
  alert: optional(oneOf(ALERT_FILTERS)),
  tag: optional(once(200)),
  stale: optional(oneOf(['0', '1'])),
  overdue: optional(oneOf(OVERDUE_KINDS)),
  sort: optional(oneOf(ACCOUNT_SORTS)),
  order: optional(oneOf(['asc', 'desc'])),
  after: optional(once(400)),
  before: optional(once(400)),
})
type AccountSearch = z.output<typeof ACCOUNT_SEARCH>

/** All accounts, searched, filtered and ordered. */
export async function showAccounts(deps: WebDeps, { query }: FastifyRequest): Promise<OperatorPage> {
  const asked = check(ACCOUNT_SEARCH, query)
  const { q: text = '', sort = 'worst', state, alert, overdue } = asked
  const [{ rows: listed, next, previous }, byState] = await Promise.all([
    readAccountList(deps, {
      text,
      state,
      alert,
      overdue,
      sort,
      tag: tagNamed(deps, asked.tag),
      stale: asked.stale === '1',
      descending: asked.order === 'desc',
      after: placeInAccounts('after', asked.after, sort),
      before: placeInAccounts('before', asked.before, sort),
      limit: ACCOUNTS_A_PAGE,
    }),
    deps.registry.countByState(),
  ])
  const now = deps.clock.now()
  const rows = await withClosestLimit(deps, listed)
  const body = html`<div data-live="counts">${stateLinks(asked, byState)}</div>
${searchForm(asked, Object.keys(deps.tags))}
<div data-live="accounts" class="one-line">
${rows.length === 0 ? noneFound(asked) : accountRows(rows, asked, deps.coverage.settings.freshnessMs, now)}
${pager(asked, next, previous)}
</div>`
  return { at: '/accounts', title: 'Accounts', body }
}

/** The address with some of it changed. Another list begins at its first page. */
function accountsPath(asked: AccountSearch, change: FilterValues = {}): string {
  return withQuery('/accounts', { ...asked, after: undefined, before: undefined, ...change })
}

/** How many accounts are in which state, each a way to see only those. */
function stateLinks(asked: AccountSearch, byState: Record<AccountState, number>): Html {
  const total = ACCOUNT_STATES.reduce((sum, state) => sum + byState[state], 0)
  const link = (state: AccountState | undefined, name: string, count: number) => {
    const isShown = state === asked.state
    return html`<a href="${accountsPath(asked, { state })}"${isShown ? html` aria-current="true"` : undefined}>${name} <span class="soft">${formatCount(count)}</span></a> `
  }
  const shown = ACCOUNT_STATES.filter((state) => byState[state] > 0 || state === asked.state)
  return html`<nav class="chips" aria-label="States">${link(undefined, 'all', total)}${shown.map((state) => link(state, STATE_NAMES[state], byState[state]))}</nav>`
}

const ALERT = choice('alert', 'Alert', 'any', ALERT_FILTERS)
const OVERDUE = choice('overdue', 'Overdue', 'or not', OVERDUE_KINDS)

/** Folded on a phone, unless it narrows the list. */
function searchForm(asked: AccountSearch, tags: readonly string[]): Html {
  const { q, state, alert, tag, stale, overdue, sort, order } = asked
  const isNarrowed = stale === '1' || [q, alert, tag, overdue].some((given) => given !== undefined)
  return filters(
    isNarrowed,
    html`<form method="get" action="/accounts" class="search" role="search">
<label>Hub id or part of a domain <input type="search" name="q" size="26" value="${q ?? ''}" maxlength="200"></label>
${select(ALERT, alert)}
${tags.length === 0 ? undefined : select(choice('tag', 'Tag', 'any', tags), tag)}
${overdue === undefined ? undefined : select(OVERDUE, overdue)}
<label><input type="checkbox" name="stale" value="1"${stale === '1' ? html` checked` : undefined}> Without a fresh reading</label>
${hidden('state', state)}${hidden('sort', sort)}${hidden('order', order)}
<button>Search</button>
</form>`,
  )
}

function noneFound({ q, state, alert, tag, stale, overdue, after, before }: AccountSearch): Html {
  if (after !== undefined || before !== undefined) return nothing('No account is left on this page.')
  const isAll = stale !== '1' && [q, state, alert, tag, overdue].every((given) => given === undefined)
  if (isAll) return html`<p class="nothing">No account is connected yet. <a href="/install">Connect one</a>.</p>`
  return html`<p class="nothing">No account matches. <a href="/accounts">Show all</a></p>`
}

function accountRows(rows: readonly ListedAccount[], asked: AccountSearch, freshnessMs: number, now: number): Html {
  const sortedBy = (title: string, sort: AccountSort): TableColumn => ({
    title,
    sort: sortLink(asked, sort, (by) => accountsPath(asked, by)),
  })
  return htmlTable(
    'Accounts',
    [
      sortedBy('Account', 'domain'),
      sortedBy('Level', 'worst'),
      'State',
      sortedBy('Fullest limit', 'nearest'),
      'Limits read',
    ],
    rows.map((row) => {
      const { account } = row
      return [
        nameLink(account),
        levelCell(row),
        stateCell(row),
        closestCell(row),
        account.polledAt === null ? NONE : readAge(account.polledAt, freshnessMs, now),
      ]
    }),
  )
}

/** The account's one level. */
function levelCell({ account: { level }, alerts }: ListedAccount): Html {
  const marks = [...new Set(alerts.flatMap(({ mark }) => mark ?? []))].sort().join(', ')
  return level === 'none' ? NONE : badge(level === 'ok' ? 'good' : level, level === 'handled' ? marks : level)
}

function stateCell({ account: { state, trouble } }: ListedAccount): Html {
  const texts = [state === 'active' ? '' : STATE_NAMES[state], trouble]
  const text = texts.filter((one) => one !== '').join(': ')
  return text === '' ? html`<span class="soft none">active</span>` : html`<span title="${text}">${text}</span>`
}

/** How full the limit is that counts most, at any height, and which one that is. */
function closestCell({ closest, level }: ListedAccount): Html {
  if (closest == null) return NONE
  if (typeof closest === 'string') return html`<span class="soft">${WITHOUT_LIMIT[closest]}</span>`
  const { series, daysLeft } = closest
  const days = daysLeft === null || daysLeft <= 0 ? '' : `, ${daysLeftText(daysLeft)}`
  const name = `${seriesName(series)}${days}`
  return html`${fullness(series, level)} <span title="${limitText(series, { usage: series.usage, ...defined({ limit: series.limit ?? undefined }) })}">${name}</span>`
}

function pager(asked: AccountSearch, next: Place | undefined, previous: Place | undefined): Html | undefined {
  const isFirst = asked.after === undefined && asked.before === undefined
  if (isFirst && next === undefined) return undefined
  return html`<nav class="row" aria-label="Pages">
${isFirst ? undefined : html`<a href="${accountsPath(asked)}">First page</a>`}
${previous === undefined ? undefined : html`<a rel="prev" href="${accountsPath(asked, { before: placeText(previous) })}">Previous accounts</a>`}
${next === undefined ? undefined : html`<a rel="next" href="${accountsPath(asked, { after: placeText(next) })}">More accounts</a>`}
</nav>`
}
