import type { AccountSort, AlertFilter, Place } from '../../../accounts/search/account-query.ts'
import { placeText } from '../../../accounts/search/account-query.ts'
import type { AccountState } from '../../../redis/keys.ts'

/** What the page is asked for, all of it in its address: a bookmark shows the same list. */
export interface AccountsAddress {
  text: string
  state: AccountState | undefined
  alert: AlertFilter | undefined
  tag: string | undefined
  /** Only those whose newest reading is too old. */
  stale: boolean
  sort: AccountSort
  descending: boolean
  after: Place | undefined
  before: Place | undefined
}

/** The address with some of it changed. Another list begins at its first page. */
export function accountsAddress(asked: AccountsAddress, change: Partial<AccountsAddress> = {}): string {
  const { text, state, alert, tag, stale, sort, descending, after, before } = {
    ...{ ...asked, after: undefined, before: undefined },
    ...change,
  }
  const query = new URLSearchParams({
    ...(text === '' ? {} : { q: text }),
    ...(state === undefined ? {} : { state }),
    ...(alert === undefined ? {} : { alert }),
    ...(tag === undefined ? {} : { tag }),
    ...(stale ? { stale: '1' } : {}),
    ...(sort === 'worst' ? {} : { sort }),
    ...(descending ? { order: 'desc' } : {}),
    ...(after === undefined ? {} : { after: placeText(after) }),
    ...(before === undefined ? {} : { before: placeText(before) }),
  }).toString()
  return query === '' ? '/accounts' : `/accounts?${query}`
}
