import type { Store } from '../../redis/connect.ts'
import { ACCOUNT_STATES, type Keys, PARTITIONS } from '../../redis/keys.ts'
import { stepJson } from '../../redis/steps.ts'
import type { AccountFilter, AccountSort, Place } from './account-query.ts'
import { comparePlaces, type Stretch } from './stretch.ts'

/** The sorted sets that have an order. */
const SET_OF: Partial<Record<AccountSort, string>> = { refresh: 'due:refresh', poll: 'due:poll', nearest: 'nearest' }

/** So many accounts take Redis a few ms; then others have their turn. */
const LOOKED_AT_ONCE = 2_000
/** So few of a partition are looked up one by one. */
const FEW = 60

export interface WalkDeps {
  store: Store
  keys: Keys
}

/** hubIds of each partition; undefined = all that there are. */
export type Among = readonly (readonly number[])[] | undefined

/**
 * The first `limit` of a stretch that match. Partition after partition: sent together, their steps would be one long one to
 * everybody else; and what the first ones found tells the others where they may stop.
 */
export async function walk(
  deps: WalkDeps,
  filter: AccountFilter,
  among: Among,
  stretch: Stretch,
  limit: number,
): Promise<Place[]> {
  const compare = comparePlaces(stretch)
  const ask = { part: stretch.part === 'keyed' ? 'scores' : 'ids', ...orderAsk(stretch), ...filterAsk(filter) } as const
  let found: Place[] = []
  for (let number = 0; number < PARTITIONS; number++) {
    const ids = among?.[number]
    if (ids?.length === 0) continue
    const bound = found.length < limit ? undefined : found.at(-1)
    const amongAsk = ids === undefined ? {} : { among: ids.map(String), ...(ids.length > FEW ? {} : { each: true }) }
    const more = await walkPartition(
      deps,
      number,
      { ...ask, ...amongAsk, bound: placeAsk(bound), limit },
      stretch.after,
    )
    const ahead =
      stretch.after === undefined ? more : more.filter((place) => compare(stretch.after as Place, place) < 0)
    if (ahead.length > 0) found = [...found, ...ahead].sort(compare).slice(0, limit)
  }
  return found
}

async function walkPartition(
  { store, keys }: WalkDeps,
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
  const set = SET_OF[sort]
  return { reverse, ...(set === undefined ? {} : { set }) }
}

function filterAsk({ state, staleBefore, alert }: AccountFilter): object {
  return {
    states: state === undefined ? ACCOUNT_STATES : [state],
    anyState: state === undefined,
    ...(staleBefore === undefined ? {} : { staleBefore }),
    ...(alert === undefined ? {} : { alert: alert === 'open' ? 'any' : alert }),
  }
}

function placeAsk(place: Place | undefined): { id: string; key?: string | number } | undefined {
  return place && { id: String(place.hubId), ...(place.key === undefined ? {} : { key: place.key }) }
}
