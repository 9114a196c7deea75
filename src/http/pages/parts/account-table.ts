import { type Html, html } from '../../../text/html.ts'
import type { PlannedAccount } from '../../../views/account-view.ts'
import { accountLink, stateBadge } from './badges.ts'
import { table } from './table.ts'
import { when } from './when.ts'

export function accountTable(accounts: readonly PlannedAccount[], now: number): Html {
  return table(
    'Accounts',
    [
      { title: 'Account' },
      { title: 'State' },
      { title: 'Token expires' },
      { title: 'Next refresh' },
      { title: 'Last poll' },
      { title: 'Next poll' },
    ],
    accounts.map((account) => [
      accountLink(account),
      stateBadge(account.state),
      account.state === 'uninstalled' || account.token.expiresAt === null ? gone() : when(account.token.expiresAt, now),
      account.nextRefreshAt === null ? gone() : when(account.nextRefreshAt, now),
      when(account.polledAt, now),
      account.nextPollAt === null ? gone() : when(account.nextPollAt, now),
    ]),
  )
}

function gone(): Html {
  return html`<span class="soft none">–</span>`
}
