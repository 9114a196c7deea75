import type { AccountQuery } from '../accounts/search/account-query.ts'
import {
  type AccountPage,
  type SearchDeps as FindDeps,
  searchAccounts as find,
} from '../accounts/search/search-accounts.ts'
import type { CoverageStore } from '../limits/coverage-store.ts'
import type { Clock } from '../runtime/clock.ts'

export interface AccountSearch extends Omit<AccountQuery, 'staleBefore'> {
  /** Only those whose newest reading is too old. */
  stale: boolean
}

export interface SearchDeps extends FindDeps {
  coverage: Pick<CoverageStore, 'settings'>
  clock: Clock
}

/** One page of accounts, for people and for programs. */
export function searchAccounts(deps: SearchDeps, { stale, ...query }: AccountSearch): Promise<AccountPage> {
  const staleBefore = stale ? deps.clock.now() - deps.coverage.settings.freshnessMs : undefined
  return find(deps, { ...query, staleBefore })
}
