import type { Store } from '../../redis/connect.ts'
import { ACCOUNT_STATES, type Keys, PARTITIONS } from '../../redis/keys.ts'
import { stepJson } from '../../redis/steps.ts'
import type { AccountFilter, AccountSort, Place } from './account-query.ts'

/** The sorted sets that have an order. */
const SET_OF: Partial<Record<AccountSort, string>> = { poll: 'due:poll', nearest: 'nearest' }

/** So many accounts take Redis a few ms; then others have their turn. */
const LOOKED_AT_ONCE = 2_000
/** So few of a partition are read one by one. */
const FEW = 60

/** One stretch of a list: the accounts that have what it is ordered by, or those that are ordered by their hubIds. */
export interface Stretch {
  sort?: AccountSort
  part: 'keyed' | 'by hubId'
  reverse: boolean
  after: Place | undefined
}

export interface Walk {
  filter: AccountFilter
  /** hubIds of each partition; undefined = all that there are. */
  among: readonly (readonly number[])[] | undefined
  stretch: Stretch
  limit: number
}

/**
 * The first `limit` of a stretch that match. Partition after partition: sent together, their steps would be one long one to
 * other requests; and what the first ones found lets the others stop early.
 */
export async function walk(
  deps: { store: Store; keys: Keys },
  { filter, among, stretch, limit }: Walk,
): Promise<Place[]> {
  const compare = comparePlaces(stretch)
  const part = stretch.part === 'keyed' ? ('scores' as const) : ('ids' as const)
  const ask = { part, ...orderAsk(stretch), ...filterAsk(filter) }
  let found: Place[] = []
  for (let number = 0; number < PARTITIONS; number++) {
    const ids = among?.[number]
    if (ids?.length === 0) continue
    const bound = found.length < limit ? undefined : found.at(-1)
    const amongAsk = ids === undefined ? {} : { among: ids.map(String), ...(ids.length > FEW ? {} : { each: true }) }
    const partAsk = {
      ...ask,
      ...amongAsk,
      bound: placeAsk(bound),
      limit,
      without: filter.without?.[number]?.map(String),
    }
    const more = await walkPartition(deps, number, partAsk, stretch.after)
    const ahead =
      stretch.after === undefined ? more : more.filter((place) => compare(stretch.after as Place, place) < 0)
    if (ahead.length > 0) found = [...found, ...ahead].sort(compare).slice(0, limit)
  }
  return found
}

async function walkPartition(
  { store, keys }: { store: Store; keys: Keys },
  number: number,
  ask: { part: 'scores' | 'ids'; [more: string]: unknown },
  after: Place | undefined,
): Promise<Place[]> {
  // By hubId: one that moved on between two steps is seen twice.
  const places = new Map<number, Place>()
  for (let from = placeAsk(after); ; ) {
    const step = stepJson({ ...ask, after: from, most: LOOKED_AT_ONCE })
    const [found, id, key] = await store.searchAccounts(keys.partition(number).alerting, step)
    for (let n = 0; n < found.length; n += 2) {
      const hubId = Number(found[n])
      places.set(hubId, ask.part === 'ids' ? { hubId } : { hubId, key: Number(found[n + 1]) })
    }
    if (id === '') return [...places.values()]
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
