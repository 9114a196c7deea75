import {
  ACCOUNT_SORTS,
  type AccountSort,
  ALERT_FILTERS,
  type AlertFilter,
  type Place,
} from '../../../accounts/search/account-query.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import type { NearestLimit } from '../../../limits/forecast/outlook.ts'
import type { Series } from '../../../limits/series.ts'
import { ACCOUNT_STATES, type AccountState } from '../../../redis/keys.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatCount, formatDaysLeft, formatPercent } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { PlannedAccount } from '../../../views/account-view.ts'
import { stateBadge } from '../parts/badges.ts'
import { nothing, type TableColumn, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { type AccountsAddress, accountsAddress } from './accounts-address.ts'

export interface AccountsPage {
  rows: readonly AccountRow[]
  next: Place | undefined
  previous: Place | undefined
  asked: AccountsAddress
  byState: Record<AccountState, number>
  /** Names of tags that can be filtered by. */
  tags: readonly string[]
  now: number
}

export function accountsPage({ rows, next, previous, asked, byState, tags, now }: AccountsPage): Html {
  return html`<div data-live="counts">${stateLinks(asked, byState)}</div>
${searchForm(asked, tags)}
<div data-live="accounts">
${rows.length === 0 ? noneFound(asked) : accountRows(rows, asked, now)}
${pager(asked, next, previous)}
</div>`
}

/** How many accounts are in which state, each a way to see only those. */
function stateLinks(asked: AccountsAddress, byState: Record<AccountState, number>): Html {
  const total = ACCOUNT_STATES.reduce((sum, state) => sum + byState[state], 0)
  const link = (state: AccountState | undefined, name: string, count: number) => {
    const isShown = state === asked.state
    return html`<a href="${accountsAddress(asked, { state })}"${isShown ? html` aria-current="true"` : undefined}>${name} <span class="count">${formatCount(count)}</span></a> `
  }
  const shown = ACCOUNT_STATES.filter((state) => byState[state] > 0 || state === asked.state)
  return html`<nav class="chips" aria-label="States">${link(undefined, 'all', total)}${shown.map((state) => link(state, state, byState[state]))}</nav>`
}

function noneFound(asked: AccountsAddress): Html {
  const { text, state, alert, tag, stale, after, before } = asked
  if (after !== undefined || before !== undefined) return nothing('No account is left on this page.')
  const isAll = text === '' && state === undefined && alert === undefined && tag === undefined && !stale
  if (isAll) return html`<p class="nothing">No account is connected yet. <a href="/install">Connect one</a>.</p>`
  return html`<p class="nothing">No account matches. <a href="/accounts">Show all</a></p>`
}

function pager(asked: AccountsAddress, next: Place | undefined, previous: Place | undefined): Html | undefined {
  const isFirst = asked.after === undefined && asked.before === undefined
  if (isFirst && next === undefined) return undefined
  return html`<nav class="pager" aria-label="Pages">
${isFirst ? undefined : html`<a href="${accountsAddress(asked)}">First page</a>`}
${previous === undefined ? undefined : html`<a rel="prev" href="${accountsAddress(asked, { before: previous })}">Previous accounts</a>`}
${next === undefined ? undefined : html`<a rel="next" href="${accountsAddress(asked, { after: next })}">More accounts</a>`}
</nav>`
}

const SORT_NAMES: Record<AccountSort, string> = {
  worst: 'worst first',
  hubId: 'hub id',
  domain: 'domain',
  refresh: 'next refresh',
  poll: 'next poll',
  nearest: 'nearest limit',
}

const ALERT_NAMES: Record<AlertFilter, string> = { open: 'any that is open', warning: 'warning', critical: 'critical' }

function searchForm(asked: AccountsAddress, tags: readonly string[]): Html {
  const { text, state, alert, tag, stale, sort, descending } = asked
  return html`<form method="get" action="/accounts" class="search" role="search">
<label class="wide">Hub id or part of a domain <input type="search" name="q" value="${text}" maxlength="200"></label>
<label>Alert <select name="alert">${option('', 'with or without', alert)}${ALERT_FILTERS.map((one) => option(one, ALERT_NAMES[one], alert))}</select></label>
${tags.length === 0 ? undefined : html`<label>Tag <select name="tag">${option('', 'any', tag)}${tags.map((one) => option(one, one, tag))}</select></label>`}
<label>Order by <select name="sort">${ACCOUNT_SORTS.map((one) => option(one, SORT_NAMES[one], sort))}</select></label>
<label class="tick"><input type="checkbox" name="order" value="desc"${checked(descending)}> Reverse order</label>
<label class="tick"><input type="checkbox" name="stale" value="1"${checked(stale)}> Without a fresh reading</label>
${state === undefined ? undefined : html`<input type="hidden" name="state" value="${state}">`}
<button>Search</button>
</form>`
}

function option(value: string, name: string, chosen: string | undefined): Html {
  return html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : undefined}>${name}</option>`
}

function checked(is: boolean): Html | undefined {
  return is ? html` checked` : undefined
}

interface AccountRow {
  account: PlannedAccount
  nearest: NearestLimit | undefined
}

function accountRows(rows: readonly AccountRow[], asked: AccountsAddress, now: number): Html {
  const sortedBy = (title: string, sort: AccountSort): TableColumn => ({ title, sort: sortLink(asked, sort) })
  return table(
    'Accounts',
    [
      sortedBy('Domain', 'domain'),
      sortedBy('Hub id', 'hubId'),
      { title: 'State' },
      { title: 'Token expires' },
      sortedBy('Next refresh', 'refresh'),
      { title: 'Last poll' },
      sortedBy('Next poll', 'poll'),
      sortedBy('Nearest limit', 'nearest'),
    ],
    rows.map(({ account, nearest }) => [
      domainOf(account),
      String(account.hubId),
      stateBadge(account.state),
      account.state === 'uninstalled' ? GONE : moment(account.token.expiresAt, now),
      moment(account.nextRefreshAt, now),
      when(account.polledAt, now),
      moment(account.nextPollAt, now),
      nearest === undefined ? GONE : nearLimitNote({ ...nearest.series, daysLeft: nearest.daysLeft }),
    ]),
  )
}

/** By a column, and the other way round where it is that already. */
function sortLink(asked: AccountsAddress, sort: AccountSort): NonNullable<TableColumn['sort']> {
  const isNow = asked.sort === sort
  return {
    href: accountsAddress(asked, { sort, descending: isNow && !asked.descending }),
    is: isNow ? (asked.descending ? 'descending' : 'ascending') : undefined,
  }
}

function domainOf({ hubId, hubDomain }: PlannedAccount): Html {
  const domain = cleanText(hubDomain, 80)
  return html`<a href="/accounts/${hubId}">${domain === '' ? `account ${hubId}` : domain}</a>`
}

function moment(at: number | null, now: number): Html {
  return at === null ? GONE : when(at, now)
}

const GONE = html`<span class="soft none">–</span>`

type NearLimitNumbers = Omit<Series, 'id'> & { daysLeft: number | null }

/** How near a limit is, in a cell: `96 %, about 12 days left`, and which one. */
function nearLimitNote(limit: NearLimitNumbers): Html {
  const { percent, daysLeft } = limit
  const full = percent === null ? '' : formatPercent(percent)
  const days = daysLeft === null || daysLeft <= 0 ? '' : formatDaysLeft(daysLeft)
  const near = [full, days].filter((text) => text !== '').join(', ')
  return html`${near}<br><span class="soft">${seriesName(limit)}</span>`
}
