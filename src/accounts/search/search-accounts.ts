import type { Store } from '../../redis/connect.ts'
import type { AccountState, Keys } from '../../redis/keys.ts'
import type { Account } from '../account.ts'
import { matchesAccount } from '../match-account.ts'
import type { Registry } from '../registry.ts'
import { type AccountFilter, type AccountQuery, isAhead, type Place } from './account-query.ts'
import type { Directory, DirectoryEntry } from './directory.ts'
import { comparePlaces, type Stretch, walk } from './walk.ts'

export interface AccountLists {
  store: Store
  keys: Keys
  registry: Registry
  directory: Directory
}

export interface AccountPage {
  accounts: Account[]
  /** Places of the pages beside this one; undefined where there is none. */
  next: Place | undefined
  previous: Place | undefined
}

/**
 * One page of the accounts that match, in the order asked for. An account that nothing happens to is on exactly one page of a
 * sequence, even if others change; one whose key changes between two pages is where its new key puts it.
 */
export async function pageOfAccounts(deps: AccountLists, query: AccountQuery): Promise<AccountPage> {
  const isBackward = query.before !== undefined
  const entries = await matchingEntries(deps, query)
  const limit = query.limit + 1
  const found =
    query.sort === 'worst' ? await worstFirst(deps, query, entries, limit) : await firstOf(deps, query, entries, limit)
  // The entries before that place are gone.
  if (isBackward && found.length === 0) return pageOfAccounts(deps, { ...query, before: undefined, after: undefined })
  const isMore = found.length > query.limit
  const shown = found.slice(0, query.limit)
  if (isBackward) shown.reverse()
  return {
    accounts: await deps.registry.getMany(shown.map(({ hubId }) => hubId)),
    next: isBackward || isMore ? shown.at(-1) : undefined,
    previous: (isBackward ? isMore : query.after !== undefined) ? shown[0] : undefined,
  }
}

/** Most accounts of a state that are read one by one. */
const FEW_IN_STATE = 1_000

const WORST_FIRST = ['reauthorize', 'failing', 'parked', 'active', 'uninstalling', 'uninstalled'] as const

async function worstFirst(deps: AccountLists, query: AccountQuery, entries: Entries | undefined, limit: number) {
  const isReversed = query.descending !== (query.before !== undefined)
  const from = query.before ?? query.after
  const isFromAhead = from !== undefined && isAhead(from)
  const parts = isReversed ? [othersFirst, aheadFirst] : [aheadFirst, othersFirst]
  // A place in the second part has all of the first one before it.
  if (from?.key !== undefined && isReversed === isFromAhead) parts.shift()
  const found: Place[] = []
  for (const part of parts) {
    if (found.length < limit) found.push(...(await part(deps, query, entries, limit - found.length)))
  }
  return found
}

/** Matching accounts ahead. */
async function aheadFirst(deps: AccountLists, query: AccountQuery, entries: Entries | undefined, limit: number) {
  const { places, compare } = query.ahead ?? { places: [], compare: () => 0 }
  const named = entries === undefined ? undefined : new Set(entries.map(({ hubId }) => hubId))
  const some = places.filter(({ hubId }) => named?.has(hubId) ?? true)
  const candidates = some.map(({ hubId }) => ({ hubId, domain: '' }))
  const matching = isFiltered(query) && some.length > 0 ? await everyMatch(deps, query, candidates) : undefined
  const from = query.before ?? query.after
  const turn = query.descending !== (query.before !== undefined) ? -1 : 1
  return some
    .filter((place) => matching?.has(place.hubId) ?? true)
    .filter((place) => from === undefined || !isAhead(from) || turn * compare(from, place) < 0)
    .toSorted((a, b) => turn * compare(a, b))
    .slice(0, limit)
}

/** All others: those that lost their token, those about to, the rest; of each state the nearest to a limit first. */
async function othersFirst(deps: AccountLists, query: AccountQuery, entries: Entries | undefined, limit: number) {
  const isBackward = query.before !== undefined
  const from = query.before ?? query.after
  const [begun, score = ''] = from === undefined || isAhead(from) ? [] : String(from.key ?? '').split(':')
  const inState = from && { hubId: from.hubId, ...(score === '' ? {} : { key: Number(score) }) }
  const states = [...WORST_FIRST.entries()]
  if (query.descending !== isBackward) states.reverse()
  const first = Math.max(
    0,
    states.findIndex(([n]) => String(n) === begun),
  )
  const without = (query.ahead?.places ?? []).map(({ hubId }) => hubId)
  const ahead = new Set(without)
  const found: Place[] = []
  for (const [n, state] of states.slice(first)) {
    if (found.length >= limit) break
    if (query.state !== undefined && query.state !== state) continue
    const at = String(n) === begun ? inState : undefined
    const within = { after: isBackward ? undefined : at, before: isBackward ? (at ?? LAST) : undefined, without }
    const few = (entries ?? (await entriesOf(deps, state)))?.filter(({ hubId }) => !ahead.has(hubId))
    const some = await firstOf(deps, { ...query, ...within, sort: 'nearest', state }, few, limit - found.length)
    found.push(...some.map(({ hubId, key = '' }) => ({ hubId, key: `${n}:${key}` })))
  }
  return found
}

/** Before which every account of a state is. */
const LAST: Place = { hubId: Number.MAX_SAFE_INTEGER }

/** Undefined where they are too many to be looked up. */
async function entriesOf({ registry }: AccountLists, state: AccountState): Promise<Entries | undefined> {
  if (state === 'active') return undefined
  const hubIds = await registry.hubIds(FEW_IN_STATE + 1, 0, [state])
  return hubIds.length > FEW_IN_STATE ? undefined : hubIds.map((hubId) => ({ hubId, domain: '' }))
}

async function firstOf(
  deps: AccountLists,
  query: AccountQuery,
  entries: Entries | undefined,
  limit: number,
): Promise<Place[]> {
  const found: Place[] = []
  for (const stretch of stretchesOf(query)) {
    const wanted = limit - found.length
    if (wanted <= 0) break
    if (query.sort === 'domain' && stretch.part === 'keyed') {
      const matching = isFiltered(query) ? await everyMatch(deps, query, entries) : undefined
      const candidates = entries?.filter(({ hubId }) => matching?.has(hubId) ?? true)
      found.push(...firstByDomain(candidates ?? [], stretch, wanted))
    } else {
      // By domain, those without one come last.
      const some = query.sort === 'domain' ? entries?.filter(({ domain }) => domain === '') : entries
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
  if (sort === undefined) return [{ part: 'by hubId', reverse, after: from }]
  const isLast = from !== undefined && from.key === undefined
  const keyed: Stretch = { sort, part: 'keyed', reverse, after: isLast ? undefined : from }
  const others: Stretch = { sort, part: 'by hubId', reverse: isBackward, after: isLast ? from : undefined }
  if (isBackward) return isLast ? [others, keyed] : [keyed]
  return isLast ? [others] : [keyed, others]
}

type Entries = readonly DirectoryEntry[]

/** Accounts that match by name; undefined where no name is asked for. */
async function matchingEntries({ directory }: AccountLists, query: AccountQuery): Promise<Entries | undefined> {
  const { sort, tag } = query
  const text = query.text.trim().toLowerCase()
  if (text === '' && tag === undefined && sort !== 'domain') return undefined
  const entries = await directory.read()
  if (text === '' && tag === undefined) return entries
  const exact = entries.filter(({ hubId }) => String(hubId) === text)
  const match = tag === undefined ? {} : { tag: [tag] }
  const isNamed = ({ hubId, domain }: DirectoryEntry) =>
    (domain.includes(text) || String(hubId).startsWith(text)) && matchesAccount(match, { hubId, hubDomain: domain })
  // A hubId in full means that account.
  return (exact.length > 0 ? exact : entries).filter(isNamed)
}

function isFiltered({ state, staleBefore, overdue, alert }: AccountFilter): boolean {
  return [state, staleBefore, overdue, alert].some((given) => given !== undefined)
}

async function everyMatch(
  deps: AccountLists,
  filter: AccountFilter,
  entries: Entries | undefined,
): Promise<Set<number>> {
  const stretch: Stretch = { part: 'by hubId', reverse: false, after: undefined }
  const found = await walk(deps, { filter, among: hubIdsOf(entries), stretch, limit: Number.MAX_SAFE_INTEGER })
  return new Set(found.map(({ hubId }) => hubId))
}

function hubIdsOf(entries: Entries | undefined): number[] | undefined {
  return entries?.map(({ hubId }) => hubId)
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
