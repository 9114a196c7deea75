import type { Store } from '../../redis/connect.ts'
import { ACCOUNT_STATES, type Keys } from '../../redis/keys.ts'
import { stepJson } from '../../redis/steps.ts'
import type { AccountFilter, AccountSort, Place } from './account-query.ts'

/** The sorted sets that have an order. */
const SET_OF: Partial<Record<AccountSort, string>> = { poll: 'due:poll', nearest: 'nearest' }

/** So many accounts take Redis a few ms; then others have their turn. */
const LOOKED_AT_ONCE = 2_000
/** So few are read one by one. */
const FEW = 2_000

/** One stretch of a list: the accounts that have what it is ordered by, or those that are ordered by their hubIds. */
export interface Stretch {
  sort?: AccountSort
  part: 'keyed' | 'by hubId'
  reverse: boolean
  after: Place | undefined
}

export interface Walk {
  filter: AccountFilter
  /** Undefined = all that there are. */
  among: readonly number[] | undefined
  stretch: Stretch
  limit: number
}

/** The first `limit` of a stretch that match. */
export async function walk(
  deps: { store: Store; keys: Keys },
  { filter, among, stretch, limit }: Walk,
): Promise<Place[]> {
  if (among?.length === 0) return []
  const compare = comparePlaces(stretch)
  const part = stretch.part === 'keyed' ? ('scores' as const) : ('ids' as const)
  const amongAsk =
    among === undefined ? {} : { among: among.map(String), ...(among.length > FEW ? {} : { each: true }) }
  const without = filter.without?.map(String)
  const ask = { part, ...orderAsk(stretch), ...filterAsk(filter), ...amongAsk, limit, without }
  const found = await walkAll(deps, ask, stretch.after)
  return found
    .filter((place) => stretch.after === undefined || compare(stretch.after, place) < 0)
    .sort(compare)
    .slice(0, limit)
}

async function walkAll(
  { store, keys }: { store: Store; keys: Keys },
  ask: { part: 'scores' | 'ids'; [more: string]: unknown },
  after: Place | undefined,
): Promise<Place[]> {
  // By hubId: one that moved on between two steps is seen twice.
  const places = new Map<number, Place>()
  for (let from = placeAsk(after); ; ) {
    const step = stepJson({ ...ask, after: from, most: LOOKED_AT_ONCE })
    const [found, id, key] = await store.searchAccounts(keys.alerting, step)
    for (let n = 0; n < found.length; n += 2) {
      const hubId = Number(found[n])
      places.set(hubId, ask.part === 'ids' ? { hubId } : { hubId, key: Number(found[n + 1]) })
    }
    if (id === '' || places.size >= Number(ask.limit)) return [...places.values()]
    from = ask.part === 'ids' ? { id } : { id, key: Number(key) }
  }
}

function orderAsk({ sort, reverse }: Stretch): object {
  const set = sort && SET_OF[sort]
  return { reverse, ...(set === undefined ? {} : { set }) }
}

function filterAsk({ state, staleBefore, overdue, alert }: AccountFilter): object {
  return {
    states: state === undefined ? ACCOUNT_STATES : [state],
    anyState: state === undefined,
    ...(staleBefore === undefined ? {} : { staleBefore }),
    ...(overdue === undefined ? {} : { overdue }),
    ...(alert === undefined ? {} : { alert: alert === 'open' ? 'any' : alert }),
  }
}

function placeAsk(place: Place | undefined): { id: string; key?: string | number } | undefined {
  return place && { id: String(place.hubId), ...(place.key === undefined ? {} : { key: place.key }) }
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
