import type { Account } from '../accounts/account.ts'
import type { Registry } from '../accounts/registry.ts'
import type { CoverageStore } from '../limits/coverage-store.ts'
import type { AccountState } from '../redis/keys.ts'

export interface StaleSearch {
  states: readonly AccountState[]
  /** Part of a domain, or a hubId, in lower case; '' = everything. */
  text: string
  after: number
  limit: number
}

const AT_ONCE = 500

/** Accounts whose newest reading is too old, by hubId from just after `after`. */
export async function staleAccounts(
  { registry, coverage }: { registry: Registry; coverage: CoverageStore },
  { states, text, after, limit }: StaleSearch,
  now: number,
): Promise<Account[]> {
  const hubIds = (await coverage.staleAccounts(now)).filter((hubId) => hubId > after)
  const found: Account[] = []
  for (let from = 0; from < hubIds.length && found.length < limit; from += AT_ONCE) {
    const some = await registry.getMany(hubIds.slice(from, from + AT_ONCE))
    found.push(...some.filter((account) => states.includes(account.state) && matches(account, text)))
  }
  return found.slice(0, limit)
}

function matches({ hubId, hubDomain }: Account, text: string): boolean {
  return text === '' || text === String(hubId) || hubDomain.toLowerCase().includes(text)
}
