import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'

/** Of each partition so many are looked at: to look at all of a large fleet takes Redis a fifth of a second. */
const LOOKED_AT = 4

/**
 * When the first access token expires, ms, among those that are refreshed next and those whose refreshes fail; null where there
 * is none. What is refreshed later expires later, but for the chance in when it is planned.
 */
export async function nearestExpiry({ store, keys }: { store: Store; keys: Keys }): Promise<number | null> {
  const candidates = await Promise.all(
    Array.from({ length: PARTITIONS }, (_, number) => {
      const { due, state } = keys.partition(number)
      return [due.refresh, state.failing, state.parked].map((set) => store.zrange(set, '0', String(LOOKED_AT - 1)))
    }).flat(),
  )
  const hubIds = new Set(candidates.flat().map(Number))
  const moments = await Promise.all(
    [...hubIds].map(async (hubId) => Number(await store.hget(keys.account(hubId).account, 'expiresAt'))),
  )
  // 0: it was imported, and has no access token yet.
  const known = moments.filter((at) => at > 0)
  return known.length === 0 ? null : Math.min(...known)
}
