import type { RelayDeps } from '../outbox/relay.ts'
import { isDigest } from './group.ts'
import { paceOf } from './pace.ts'
import { readToldLately } from './told-lately.ts'
import { decodeHeld, placeOf, type WaitingAlert } from './waiting.ts'

/** Something that is held back, as it was read, and the group that it goes to. */
export interface StoredHeld {
  field: string
  stored: string
  group: string
}

/** What is held back goes to a group again; 500 at most. Returns how many were still as they were read. */
export async function release(
  deps: Pick<RelayDeps, 'store' | 'keys' | 'group'>,
  found: readonly StoredHeld[],
  now: number,
): Promise<number> {
  const decoded = found.map((one) => ({ ...one, held: decodeHeld(one.stored) }))
  const lately = await readToldLately(
    deps,
    decoded.map(({ group, held: { alert } }) => ({ key: group, alert })),
    now,
  )
  return deps.store.releaseHeld(
    ...[deps.keys.delivery.ledger, now, deps.group.waitMs, deps.group.intervalMs],
    ...decoded.flatMap(({ field, stored, group, held }) => {
      const { alert, of, held: because } = held
      const waiting: WaitingAlert = { alert, of, held: because }
      const pace = paceOf(alert, isDigest(group), lately(group, alert))
      return [field, stored, group, placeOf(waiting), JSON.stringify(waiting), pace]
    }),
  )
}
