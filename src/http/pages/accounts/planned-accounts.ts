import type { Place } from '../../../accounts/search/account-query.ts'
import { type PlannedAccount, withPlan } from '../../../views/account-view.ts'
import { type AccountSearch, searchAccounts } from '../../search-accounts.ts'
import type { PagesDeps } from '../pages-deps.ts'

/** One page of accounts, each with when it is due next. */
export async function plannedAccounts(
  deps: PagesDeps,
  search: AccountSearch,
): Promise<{ accounts: PlannedAccount[]; next: Place | undefined; previous: Place | undefined }> {
  const { accounts, ...beside } = await searchAccounts(deps, search)
  return { accounts: await Promise.all(accounts.map((account) => withPlan(deps.due, account))), ...beside }
}
