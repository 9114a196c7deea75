import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { RelayDeps } from '../outbox/relay.ts'
import { decodeHeld, homesOf, isDigest, lookAgainAt, placeOf, receiverOfHeld, type WaitingAlert } from './group.ts'
import { holdOf, readCircumstances } from './hold.ts'
import { readPaces } from './told.ts'

/** Something that is held back, as it was read, and the group that it goes to, or that of a mass. */
export interface StoredHeld {
  field: string
  stored: string
  homes: readonly [own: string, mass: string]
}

/** What is held back goes to a group again; 500 at most. Returns how many were still as they were read. */
export async function release(
  deps: Pick<RelayDeps, 'store' | 'keys' | 'group'>,
  found: readonly StoredHeld[],
  now: number,
): Promise<number> {
  const decoded = found.map((one) => ({ ...one, held: decodeHeld(one.stored) }))
  const paces = await readPaces(
    deps,
    decoded.flatMap(({ homes, held: { alert } }) => homes.map((key) => ({ key, alert }))),
    now,
  )
  return deps.store.releaseHeld(
    ...[deps.keys.delivery.ledger, now, deps.group.waitMs, deps.group.intervalMs],
    ...decoded.flatMap(({ field, stored, homes, held }) => {
      const { order = 0, alert, of, held: because } = held
      const waiting: WaitingAlert = { order, alert, of, held: because }
      const places = homes.flatMap((key) => [key, paces(key, alert)])
      return [field, stored, ...places, placeOf(waiting), JSON.stringify(waiting)]
    }),
  )
}

/** What is checked, and moved, at a time. */
const CHUNK = 500

/**
 * Looks again at what is held back and has come to its time: what nothing holds back any more goes to its group again, and
 * is judged anew when that closes. Returns when to check next.
 */
export async function lookAtHeld(deps: RelayDeps, now: number): Promise<number | undefined> {
  const { held, heldDue } = deps.keys.delivery
  for (;;) {
    const fields = await deps.store.zrangebyscore(heldDue, '-inf', now, 'LIMIT', 0, CHUNK)
    if (fields.length === 0) break
    const [circumstances, stored] = await Promise.all([readCircumstances(deps, now), deps.store.hmget(held, ...fields)])
    const still: (string | number)[] = []
    const free: StoredHeld[] = []
    for (const [n, field] of fields.entries()) {
      const value = stored[n]
      if (value == null) continue
      const { alert, group } = decodeHeld(value)
      const receiver = receiverOfHeld(field)
      const because = holdOf(alert, receiver, circumstances, now)
      const homes = homesOf(receiver, { alert, ...(isDigest(group) && { firstReading: true }) }, deps.group.by)
      if (because === undefined) free.push({ field, stored: value, homes })
      else still.push(lookAgainAt(because, now), field)
    }
    if (still.length > 0) await deps.store.zadd(heldDue, 'XX', ...still)
    const released = free.length === 0 ? 0 : await release(deps, free, now)
    // Somebody else is at it.
    if (still.length === 0 && released === 0) break
  }
  const [, earliest] = await deps.store.zrange(heldDue, 0, '0', 'WITHSCORES')
  return earliest === undefined ? undefined : Number(earliest)
}

/** When a silence ends early, all that is held back is checked now. */
export async function lookAgain({ store, keys }: { store: Store; keys: Keys }, now: number): Promise<void> {
  for (;;) {
    const later = await store.zrangebyscore(keys.delivery.heldDue, `(${now}`, '+inf', 'LIMIT', 0, CHUNK)
    if (later.length === 0) return
    await store.zadd(keys.delivery.heldDue, 'XX', ...later.flatMap((field) => [now, field]))
  }
}
