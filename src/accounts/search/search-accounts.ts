import type { Account } from '../account.ts'
import { type AccountQuery, isAhead, type Place } from './account-query.ts'
import { type Filter, fewCandidates, matchingOf, readNamed } from './filter.ts'
import { type AccountLists, comparePlaces, type KeyedSort, keyedPlaces, nextOf, type Stretch } from './stretch.ts'

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
  const filter: Filter = { ...query, named: await readNamed(deps, query), without: NONE }
  const limit = query.limit + 1
  const found =
    query.sort === 'worst'
      ? await worstFirst(deps, query, filter, limit)
      : await firstOf(deps, { ...query, sort: query.sort }, filter, limit)
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

const NONE: ReadonlySet<number> = new Set()
const WORST_FIRST = ['reauthorize', 'failing', 'parked', 'active', 'uninstalling', 'uninstalled'] as const

async function worstFirst(deps: AccountLists, query: AccountQuery, filter: Filter, limit: number) {
  const isReversed = query.descending !== (query.before !== undefined)
  const from = query.before ?? query.after
  const isFromAhead = from !== undefined && isAhead(from)
  const parts = isReversed ? [othersFirst, aheadFirst] : [aheadFirst, othersFirst]
  // A place in the second part has all of the first one before it.
  if (from?.key !== undefined && isReversed === isFromAhead) parts.shift()
  const found: Place[] = []
  for (const part of parts) {
    if (found.length < limit) found.push(...(await part(deps, query, filter, limit - found.length)))
  }
  return found
}

/** Matching accounts ahead. */
async function aheadFirst(deps: AccountLists, query: AccountQuery, filter: Filter, limit: number) {
  const { places, compare } = query.ahead ?? { places: [], compare: () => 0 }
  const from = query.before ?? query.after
  const turn = query.descending !== (query.before !== undefined) ? -1 : 1
  return (await matchingOf(deps, filter, places))
    .filter((place) => from === undefined || !isAhead(from) || turn * compare(from, place) < 0)
    .toSorted((a, b) => turn * compare(a, b))
    .slice(0, limit)
}

/** All others: those that lost their token, those about to, the rest; of each state the nearest to a limit first. */
async function othersFirst(deps: AccountLists, query: AccountQuery, filter: Filter, limit: number) {
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
  const without = new Set(query.ahead?.places.map(({ hubId }) => hubId))
  const found: Place[] = []
  for (const [n, state] of states.slice(first)) {
    if (found.length >= limit) break
    if (query.state !== undefined && query.state !== state) continue
    const at = String(n) === begun ? inState : undefined
    const order = {
      descending: query.descending,
      sort: 'nearest' as const,
      after: isBackward ? undefined : at,
      before: isBackward ? (at ?? LAST) : undefined,
    }
    const some = await firstOf(deps, order, { ...filter, state, without }, limit - found.length)
    found.push(...some.map(({ hubId, key = '' }) => ({ hubId, key: `${n}:${key}` })))
  }
  return found
}

/** Before which every account of a state is. */
const LAST: Place = { hubId: Number.MAX_SAFE_INTEGER }

interface Order extends Pick<AccountQuery, 'descending' | 'after' | 'before'> {
  sort: KeyedSort | undefined
}

/** Accounts that are read at a time: few at first, then many, where few match. */
const FIRST_READ = 100
const READ_AT_ONCE = 1_000

/** The first that match, from a place on: of few all are looked up, of many the list is read as far as it takes. */
async function firstOf(deps: AccountLists, order: Order, filter: Filter, limit: number): Promise<Place[]> {
  const few = await fewCandidates(deps, filter)
  const candidates = few && (await matchingOf(deps, filter, await keyedPlaces(deps, order.sort, few)))
  const found: Place[] = []
  for (const stretch of stretchesOf(order)) {
    const wanted = limit - found.length
    if (wanted <= 0) break
    const some =
      candidates === undefined
        ? await walk(deps, stretch, filter, wanted)
        : firstAmong(
            candidates.filter(({ key }) => isOf(stretch, key)),
            stretch,
          )
    found.push(...some.slice(0, wanted))
  }
  return found
}

function isOf({ sort, part }: Stretch, key: Place['key']): boolean {
  return sort === undefined || (key === undefined) === (part === 'by hubId')
}

function firstAmong(places: readonly Place[], stretch: Stretch): Place[] {
  const { after } = stretch
  const compare = comparePlaces(stretch)
  return places.filter((place) => after === undefined || compare(after, place) < 0).sort(compare)
}

async function walk(deps: AccountLists, from: Stretch, filter: Filter, wanted: number): Promise<Place[]> {
  const found: Place[] = []
  let stretch = from
  for (let most = FIRST_READ; found.length < wanted; most = READ_AT_ONCE) {
    const places = await nextOf(deps, stretch, most, filter.state)
    const last = places.at(-1)
    if (last === undefined) break
    const matching = await matchingOf(deps, filter, places)
    const isKeyed = stretch.sort !== undefined && stretch.part === 'keyed'
    const placed = isKeyed ? matching : await withoutKey(deps, stretch.sort, matching)
    found.push(...placed)
    stretch = { ...stretch, after: last }
  }
  return found
}

async function withoutKey(deps: AccountLists, sort: KeyedSort | undefined, places: readonly Place[]) {
  if (sort === undefined || sort === 'domain') return places
  const placed = await keyedPlaces(
    deps,
    sort,
    places.map(({ hubId }) => hubId),
  )
  return placed.filter(({ key }) => key === undefined)
}

/** The stretches of the list from a place on, in the direction that is paged in. */
function stretchesOf({ sort, descending, after, before }: Order): Stretch[] {
  const isBackward = before !== undefined
  const from = before ?? after
  const reverse = descending !== isBackward
  if (sort === undefined) return [{ sort, part: 'by hubId', reverse, after: from }]
  const isLast = from !== undefined && from.key === undefined
  const keyed: Stretch = { sort, part: 'keyed', reverse, after: isLast ? undefined : from }
  const others: Stretch = { sort, part: 'by hubId', reverse: isBackward, after: isLast ? from : undefined }
  if (isBackward) return isLast ? [others, keyed] : [keyed]
  return isLast ? [others] : [keyed, others]
}
