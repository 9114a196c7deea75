import type { Place } from '../../../accounts/search/account-query.ts'
import { ACCOUNT_STATES, type AccountState } from '../../../redis/keys.ts'
import { formatCount } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import { nothing } from '../parts/table.ts'
import { type AccountRow, accountRows } from './account-rows.ts'
import { type AccountsAddress, accountsAddress } from './accounts-address.ts'
import { searchForm } from './search-form.ts'

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
