import {
  ACCOUNT_SORTS,
  type AccountSort,
  ALERT_FILTERS,
  type AlertFilter,
} from '../../../accounts/search/account-query.ts'
import { type Html, html } from '../../../text/html.ts'
import type { AccountsAddress } from './accounts-address.ts'

const SORT_NAMES: Record<AccountSort, string> = {
  worst: 'worst first',
  hubId: 'hub id',
  domain: 'domain',
  refresh: 'next refresh',
  poll: 'next poll',
  nearest: 'nearest limit',
}

const ALERT_NAMES: Record<AlertFilter, string> = { open: 'any that is open', warning: 'warning', critical: 'critical' }

export function searchForm(asked: AccountsAddress, tags: readonly string[]): Html {
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
