import { ACCOUNT_STATES, type AccountState } from '../../../redis/keys.ts'
import { type Html, html } from '../../../text/html.ts'
import type { PlannedAccount } from '../../../views/account-view.ts'
import { accountTable } from '../parts/account-table.ts'
import { nothing } from '../parts/table.ts'

export interface AccountsPage {
  accounts: readonly PlannedAccount[]
  next: number | undefined
  text: string
  state: AccountState | undefined
  /** Only those whose newest reading is too old. */
  stale: boolean
  now: number
}

export function accountsPage({ accounts, next, text, state, stale, now }: AccountsPage): Html {
  const more = new URLSearchParams({
    ...(text === '' ? {} : { q: text }),
    ...(state === undefined ? {} : { state }),
    ...(stale ? { stale: '1' } : {}),
    after: String(next),
  })
  return html`<form method="get" action="/accounts" class="search" role="search">
<label>Domain or hub id <input type="search" name="q" value="${text}" maxlength="200"></label>
<label>State <select name="state">${stateOption('', 'any', state)}${ACCOUNT_STATES.map((name) => stateOption(name, name, state))}</select></label>
<label><input type="checkbox" name="stale" value="1"${stale ? html` checked` : undefined}> Without a fresh reading</label>
<button>Search</button>
</form>
${accounts.length === 0 ? nothing(next === undefined ? 'No account matches.' : 'None so far.') : accountTable(accounts, now)}
${next === undefined ? undefined : html`<p><a href="/accounts?${more.toString()}">${accounts.length === 0 ? 'Search on' : 'More accounts'}</a></p>`}`
}

function stateOption(value: string, name: string, chosen: AccountState | undefined): Html {
  return html`<option value="${value}"${value === (chosen ?? '') ? html` selected` : undefined}>${name}</option>`
}
