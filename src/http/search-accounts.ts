import type { Account } from '../accounts/account.ts'
import type { Registry } from '../accounts/registry.ts'
import type { CoverageStore } from '../limits/coverage-store.ts'
import { ACCOUNT_STATES, type AccountState } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { staleAccounts } from '../views/stale-accounts.ts'
import { parseHubId } from './query.ts'

export interface AccountSearch {
  /** A hubId, or part of a domain; '' = everything. */
  text: string
  state: AccountState | undefined
  /** Only those whose newest reading is too old. */
  stale?: boolean
  after: number
  limit: number
}

export interface AccountPage {
  accounts: Account[]
  /** Where to go on; undefined at the end. A search may end a page early, before it has found anything. */
  next: number | undefined
}

/** Domains have no index, so a search reads on; this many accounts a page keep it to a blink. */
const MOST_READ = 10_000
const AT_ONCE = 500

export interface SearchDeps {
  registry: Registry
  coverage: CoverageStore
  clock: Clock
}

/** One page of accounts by hubId. */
export async function searchAccounts({ registry, ...deps }: SearchDeps, search: AccountSearch): Promise<AccountPage> {
  const states = search.state === undefined ? ACCOUNT_STATES : [search.state]
  const text = search.text.trim().toLowerCase()
  if (search.stale === true) {
    const { after, limit } = search
    const wanted = { states, text, after, limit: limit + 1 }
    return firstOf(await staleAccounts({ registry, ...deps }, wanted, deps.clock.now()), limit)
  }
  if (text === '') return firstOf(await registry.page(search.limit + 1, search.after, states), search.limit)
  const exact = await findById(registry, text, states)
  return exact === undefined ? readOn(registry, search, text, states) : { accounts: [exact], next: undefined }
}

function firstOf(accounts: Account[], limit: number): AccountPage {
  const shown = accounts.slice(0, limit)
  return { accounts: shown, next: accounts.length > limit ? shown.at(-1)?.hubId : undefined }
}

async function findById(
  registry: Registry,
  text: string,
  states: readonly AccountState[],
): Promise<Account | undefined> {
  const hubId = parseHubId(text)
  const account = hubId === undefined ? undefined : await registry.get(hubId)
  return account !== undefined && states.includes(account.state) ? account : undefined
}

async function readOn(
  registry: Registry,
  { after, limit }: AccountSearch,
  text: string,
  states: readonly AccountState[],
): Promise<AccountPage> {
  const found: Account[] = []
  let last = after
  for (let read = 0; read < MOST_READ; read += AT_ONCE) {
    const page = await registry.page(AT_ONCE, last, states)
    found.push(...page.filter((account) => account.hubDomain.toLowerCase().includes(text)))
    if (found.length > limit) return firstOf(found, limit)
    last = page.at(-1)?.hubId ?? last
    if (page.length < AT_ONCE) return { accounts: found, next: undefined }
  }
  return { accounts: found, next: last }
}
