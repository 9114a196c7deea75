import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Account } from '../account.ts'
import { matchesAccount } from '../match-account.ts'
import type { Registry } from '../registry.ts'
import type { AccountFilter, AccountQuery, Place } from './account-query.ts'
import type { Directory, DirectoryEntry } from './directory.ts'
import { comparePlaces, type Stretch, walk } from './walk.ts'

export interface SearchDeps {
  store: Store
  keys: Keys
  registry: Registry
  directory: Directory
}

export interface AccountPage {
  accounts: Account[]
  /** Where the pages beside this one are; undefined where there is none. */
  next: Place | undefined
  previous: Place | undefined
}

/**
 * One page of the accounts that match, in the order asked for. An account that nothing happens to is on exactly one page of a
 * sequence, even if others change; one whose key changes between two pages is where its new key puts it.
 */
export async function searchAccounts(deps: SearchDeps, query: AccountQuery): Promise<AccountPage> {
  const isBackward = query.before !== undefined
  const found = await firstOf(deps, query, query.limit + 1)
  // The entries before that place are gone.
  if (isBackward && found.length === 0) return searchAccounts(deps, { ...query, before: undefined, after: undefined })
  const isMore = found.length > query.limit
  const shown = found.slice(0, query.limit)
  if (isBackward) shown.reverse()
  return {
    accounts: await deps.registry.getMany(shown.map(({ hubId }) => hubId)),
    next: isBackward || isMore ? shown.at(-1) : undefined,
    previous: (isBackward ? isMore : query.after !== undefined) ? shown[0] : undefined,
  }
}

async function firstOf(deps: SearchDeps, query: AccountQuery, limit: number): Promise<Place[]> {
  const entries = await matchingEntries(deps, query)
  const found: Place[] = []
  for (const stretch of stretchesOf(query)) {
    const wanted = limit - found.length
    if (wanted <= 0) break
    if (query.sort === 'domain' && stretch.part === 'keyed') {
      const matching = isFiltered(query) ? await everyMatch(deps, query, entries) : undefined
      const candidates = entries?.flat().filter(({ hubId }) => matching?.has(hubId) ?? true)
      found.push(...firstByDomain(candidates ?? [], stretch, wanted))
    } else {
      // By domain, those without one come last.
      const some =
        query.sort === 'domain' ? entries?.map((part) => part.filter(({ domain }) => domain === '')) : entries
      found.push(...(await walk(deps, { filter: query, among: hubIdsOf(some), stretch, limit: wanted })))
    }
  }
  return found
}

/** The stretches of the list from a place on, in the direction that is paged in. */
function stretchesOf({ sort, descending, after, before }: AccountQuery): Stretch[] {
  const isBackward = before !== undefined
  const from = before ?? after
  const reverse = descending !== isBackward
  if (sort === 'hubId') return [{ sort, part: 'by hubId', reverse, after: from }]
  const isLast = from !== undefined && from.key === undefined
  const keyed: Stretch = { sort, part: 'keyed', reverse, after: isLast ? undefined : from }
  const others: Stretch = { sort, part: 'by hubId', reverse: isBackward, after: isLast ? from : undefined }
  if (isBackward) return isLast ? [others, keyed] : [keyed]
  return isLast ? [others] : [keyed, others]
}

type Entries = readonly (readonly DirectoryEntry[])[]

/** Who matches by name, of each partition; undefined where no name is asked for. */
async function matchingEntries({ directory }: SearchDeps, query: AccountQuery): Promise<Entries | undefined> {
  const { sort, tag } = query
  const text = query.text.trim().toLowerCase()
  if (text === '' && tag === undefined && sort !== 'domain') return undefined
  const parts = await directory.read()
  if (text === '' && tag === undefined) return parts
  const exact = parts.map((entries) => entries.filter(({ hubId }) => String(hubId) === text))
  const match = tag === undefined ? {} : { tag: [tag] }
  const isNamed = ({ hubId, domain }: DirectoryEntry) =>
    (domain.includes(text) || String(hubId).startsWith(text)) && matchesAccount(match, { hubId, hubDomain: domain })
  // Who gives a hubId in full means that account.
  const among = exact.some((entries) => entries.length > 0) ? exact : parts
  return among.map((entries) => entries.filter(isNamed))
}

function isFiltered({ state, staleBefore, alert }: AccountFilter): boolean {
  return state !== undefined || staleBefore !== undefined || alert !== undefined
}

async function everyMatch(deps: SearchDeps, filter: AccountFilter, entries: Entries | undefined): Promise<Set<number>> {
  const stretch: Stretch = { sort: 'hubId', part: 'by hubId', reverse: false, after: undefined }
  const found = await walk(deps, { filter, among: hubIdsOf(entries), stretch, limit: Number.MAX_SAFE_INTEGER })
  return new Set(found.map(({ hubId }) => hubId))
}

function hubIdsOf(entries: Entries | undefined): number[][] | undefined {
  return entries?.map((part) => part.map(({ hubId }) => hubId))
}

/** The first `limit` of a stretch that is ordered by domain. */
function firstByDomain(
  entries: Iterable<DirectoryEntry>,
  { after, ...stretch }: Pick<Stretch, 'part' | 'reverse' | 'after'>,
  limit: number,
): Place[] {
  const compare = comparePlaces(stretch)
  // Twice as many as are wanted at a time: to order all of them takes longer than to read them.
  let first: Place[] = []
  let last: Place | undefined
  for (const { hubId, domain } of entries) {
    if (domain === '') continue
    const place = { hubId, key: domain }
    if (after !== undefined && compare(after, place) >= 0) continue
    if (last !== undefined && compare(place, last) >= 0) continue
    first.push(place)
    if (first.length < 2 * limit) continue
    first = first.sort(compare).slice(0, limit)
    last = first.at(-1)
  }
  return first.sort(compare).slice(0, limit)
}
