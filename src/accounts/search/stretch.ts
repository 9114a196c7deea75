import type { Store } from '../../redis/connect.ts'
import { type AccountState, hubIdsIn, type Keys } from '../../redis/keys.ts'
import { chunksOf } from '../../runtime/chunks-of.ts'
import type { Registry } from '../registry.ts'
import type { AccountSort, Place } from './account-query.ts'
import { accountOf, NAMELESS, nameOf } from './domains.ts'

export interface AccountLists {
  store: Store
  keys: Keys
  registry: Registry
}

export type KeyedSort = Exclude<AccountSort, 'worst'>

/** One stretch of a list: the accounts that have what it is ordered by, or those that have not, by hubId. */
export interface Stretch {
  sort: KeyedSort | undefined
  part: 'keyed' | 'by hubId'
  reverse: boolean
  after: Place | undefined
}

/** The next accounts of a stretch, in order, from just after its place: at least one, unless there is none. */
export function nextOf(
  deps: AccountLists,
  stretch: Stretch,
  most: number,
  state: AccountState | undefined,
): Promise<Place[]> {
  if (stretch.sort === 'domain') return byDomain(deps, stretch, most)
  return stretch.part === 'keyed' ? byScore(deps, stretch, most) : byHubId(deps, stretch, most, state)
}

async function byHubId(
  { registry }: AccountLists,
  { reverse, after }: Stretch,
  most: number,
  state: AccountState | undefined,
): Promise<Place[]> {
  const states = state === undefined ? undefined : [state]
  const hubIds = await registry.hubIds(most, after?.hubId, states, reverse)
  return hubIds.map((hubId) => ({ hubId }))
}

async function byScore({ store, keys }: AccountLists, stretch: Stretch, most: number): Promise<Place[]> {
  const { reverse, after } = stretch
  const key = stretch.sort === 'poll' ? keys.due.poll : keys.nearest
  const compare = comparePlaces(stretch)
  // More than that may be level with the last one.
  for (let count = most; ; count *= 2) {
    const limit = ['WITHSCORES', 'LIMIT', 0, count] as const
    const found = await (reverse
      ? store.zrevrangebyscore(key, after?.key ?? '+inf', '-inf', ...limit)
      : store.zrangebyscore(key, after?.key ?? '-inf', '+inf', ...limit))
    const places = chunksOf(found, 2).flatMap(([id = '', score]) =>
      hubIdsIn([id]).map((hubId) => ({ hubId, key: Number(score) })),
    )
    const behind = after === undefined ? places : places.filter((place) => compare(after, place) < 0)
    if (behind.length > 0 || found.length < 2 * count) return behind
  }
}

async function byDomain({ store, keys }: AccountLists, stretch: Stretch, most: number): Promise<Place[]> {
  const { part, reverse, after } = stretch
  const [least, greatest] = part === 'keyed' ? ['-', `(${NAMELESS}`] : [`[${NAMELESS}`, '+']
  const from = after === undefined ? undefined : `(${nameOf({ hubId: after.hubId, domain: String(after.key ?? '') })}`
  const names = await (reverse
    ? store.zrevrangebylex(keys.domains, from ?? greatest, least, 'LIMIT', 0, most)
    : store.zrangebylex(keys.domains, from ?? least, greatest, 'LIMIT', 0, most))
  return names.flatMap((name) => {
    const { hubId, domain = '' } = accountOf(name) ?? {}
    return hubId === undefined ? [] : [{ hubId, ...(domain === '' ? {} : { key: domain }) }]
  })
}

/** The places of some accounts in a list of that order. */
export async function keyedPlaces(
  { store, keys }: AccountLists,
  sort: KeyedSort | undefined,
  hubIds: readonly number[],
): Promise<Place[]> {
  if (sort === undefined || hubIds.length === 0) return hubIds.map((hubId) => ({ hubId }))
  if (sort === 'domain') return namedPlaces({ store, keys }, hubIds)
  const scores = await store.zmscore(sort === 'poll' ? keys.due.poll : keys.nearest, ...hubIds)
  return hubIds.map((hubId, n) => ({ hubId, ...(scores[n] == null ? {} : { key: Number(scores[n]) }) }))
}

async function namedPlaces({ store, keys }: Pick<AccountLists, 'store' | 'keys'>, hubIds: readonly number[]) {
  const reading = store.pipeline()
  for (const hubId of hubIds) reading.hget(keys.own(hubId), 'hubDomain')
  const domains = (await reading.exec()) ?? []
  return hubIds.map((hubId, n): Place => {
    const domain = typeof domains[n]?.[1] === 'string' ? domains[n][1].toLowerCase() : ''
    return { hubId, ...(domain === '' ? {} : { key: domain }) }
  })
}

/** The order of a stretch. Accounts with equal keys are in the order of Redis: by their hubIds as text. */
export function comparePlaces({ part, reverse }: Pick<Stretch, 'part' | 'reverse'>): (a: Place, b: Place) => number {
  const turn = reverse ? -1 : 1
  if (part === 'by hubId') return (a, b) => turn * (a.hubId - b.hubId)
  return (a, b) => turn * (compare(a.key ?? '', b.key ?? '') || compare(String(a.hubId), String(b.hubId)))
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}
