import type { AccountSort } from '../../../accounts/search/account-query.ts'
import type { NearestLimit } from '../../../limits/nearest-limit.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { type Html, html } from '../../../text/html.ts'
import type { PlannedAccount } from '../../../views/account-view.ts'
import { stateBadge } from '../parts/badges.ts'
import { nearLimitNote } from '../parts/near-limit.ts'
import { type Column, table } from '../parts/table.ts'
import { when } from '../parts/when.ts'
import { type AccountsAddress, accountsAddress } from './accounts-address.ts'

export interface AccountRow {
  account: PlannedAccount
  nearest: NearestLimit | undefined
}

export function accountRows(rows: readonly AccountRow[], asked: AccountsAddress, now: number): Html {
  const sortedBy = (title: string, sort: AccountSort): Column => ({ title, sort: sortLink(asked, sort) })
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
function sortLink(asked: AccountsAddress, sort: AccountSort): NonNullable<Column['sort']> {
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
