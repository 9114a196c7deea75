import { readFirstDue } from '../alerts/sending/read-due.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { readNextAttempt, readPresentReceivers } from '../redis/present-receivers.ts'
import { iso } from '../text/format-time.ts'
import type { OutboxShape } from './shapes/delivery.ts'

/** How many alerts are on their way, and whether anything is late: from counters alone. */
export async function readOutboxBalance(
  { store, keys }: { store: Store; keys: Keys },
  now: number,
): Promise<OutboxShape> {
  const { pending, dead, waiting, underWay } = keys.delivery
  const receivers = await readPresentReceivers(store, keys)
  const [due, inOutbox, waits, [, oldest], [, oldestSent], deliveries, attempt = null, givenUp] = await Promise.all([
    readFirstDue({ store, keys }, receivers),
    store.zcard(keys.unsent),
    store.zcard(waiting),
    store.zrange(waiting, 0, '0', 'WITHSCORES'),
    store.zrange(underWay, 0, '0', 'WITHSCORES'),
    Promise.all(receivers.map((name) => store.zcard(pending(name)))).then((counts) =>
      counts.reduce((a, b) => a + b, 0),
    ),
    readNextAttempt({ store, keys }, receivers),
    store.zcard(dead),
  ])
  const late = [due.unsentSince, due.checkAt, attempt].filter((at) => at !== null && at < now)
  return {
    pending: inOutbox + waits + deliveries,
    inOutbox,
    waiting: waits,
    deliveries,
    dead: givenUp,
    oldestPendingAt: iso(earliest([due.unsentSince, oldest, oldestSent])),
    lateSince: iso(earliest(late)),
  }
}

function earliest(moments: readonly (number | string | null | undefined)[]): number | null {
  const known = moments.filter((at) => at != null).map(Number)
  return known.length === 0 ? null : Math.min(...known)
}
