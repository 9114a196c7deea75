import { parseSeriesId } from '../limits/series.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NOBODY } from '../redis/steps.ts'
import { alertId, decodeState, openKindOf } from './alert-state.ts'
import type { SeriesState } from './series-state.ts'
import type { Silenceable } from './silences/silence.ts'

/** An alert that is open, without the numbers of its last reading. */
export interface OpenState {
  /** The alert's own id. */
  id: string
  /** `NOBODY`: what concerns the whole installation. */
  hubId: number
  hubDomain: string
  field: string
  /** The state as it stands in Redis. */
  stored: string
  state: SeriesState & { level: Silenceable['level'] }
}

/** Accounts read at once: the answers of a fleet that is on fire must not all be in memory together. */
const AT_ONCE = 500

/** The open alerts of the given accounts, some accounts at a time. */
export async function* readOpenStates(
  store: Store,
  keys: Keys,
  hubIds: readonly number[],
): AsyncGenerator<OpenState[], void> {
  for (let from = 0; from < hubIds.length; from += AT_ONCE) {
    const some = hubIds.slice(from, from + AT_ONCE)
    yield (await Promise.all(some.map((hubId) => openStatesOf(store, keys, hubId)))).flat()
  }
}

/** Ids of the alerts that are open at the given accounts. */
export async function readOpenIds(store: Store, keys: Keys, hubIds: readonly number[]): Promise<Set<string>> {
  const ids = new Set<string>()
  for await (const some of readOpenStates(store, keys, hubIds)) for (const { id } of some) ids.add(id)
  return ids
}

export async function openStatesOf(store: Store, keys: Keys, hubId: number): Promise<OpenState[]> {
  const own = keys.account(hubId)
  const [hubDomain, states] = await Promise.all([store.hget(own.account, 'hubDomain'), store.hgetall(own.alerts)])
  return Object.entries(states).flatMap(([field, stored]) => {
    const { level, ...rest } = decodeState(stored)
    if (level === 'ok') return []
    const id = alertId(hubId, field, rest.since)
    return { id, hubId, hubDomain: hubDomain ?? '', field, stored, state: { ...rest, level } }
  })
}

/** What a silence may ask of it. */
export function silenceable({ hubId, hubDomain, field, state }: OpenState): Silenceable {
  const series = parseSeriesId(field)
  return {
    kind: openKindOf(hubId, field),
    level: state.level,
    rule: state.rule,
    ...(hubId === NOBODY ? {} : { account: { hubId, hubDomain } }),
    ...(series === undefined ? {} : { series }),
  }
}
