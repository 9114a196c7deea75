import type { Tag, Tags } from '../accounts/match-account.ts'
import type { AccountQuery, AccountSort, Place } from '../accounts/search/account-query.ts'
import { parsePlace } from '../accounts/search/account-query.ts'
import {
  type AccountPage,
  type SearchDeps as FindDeps,
  searchAccounts as find,
} from '../accounts/search/search-accounts.ts'
import type { CoverageStore } from '../limits/coverage.ts'
import type { Clock } from '../runtime/clock.ts'
import { Problem } from './problem.ts'

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

/** Where a page begins or ends, by what the one beside it called it; '' = nowhere in particular. */
export function placeOf(parameter: string, text: string, sort: AccountSort): Place | undefined {
  if (text === '') return undefined
  const place = parsePlace(text, sort)
  if (place === undefined) throw wrong(parameter, 'is no place in a list of this order')
  return place
}

export function tagOf(tags: Tags, name: string): Tag {
  const accounts = Object.hasOwn(tags, name) ? tags[name] : undefined
  if (accounts === undefined) throw wrong('tag', 'is no tag of the config')
  return { name, accounts }
}

function wrong(parameter: string, detail: string): Problem {
  return new Problem(400, `${parameter}: ${detail}`, {}, [{ parameter, detail }])
}
