import { accountSteps } from '../../redis/account-steps.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { decodeEntry, type OutboxEntry } from './outbox-entry.ts'

/** A transition as it stands in the outbox. */
export interface Committed {
  /** In the stream; NOT_IN_STREAM for one that is only in the partition's log any more. */
  id: string
  /** '' where it has none: it is given one. */
  number: string
  entry: OutboxEntry
}

/** Older than all that a stream has. */
export const NOT_IN_STREAM = '0-0'

interface Deps {
  store: Store
  keys: Keys
}

/** The oldest transitions of a partition that wait, `most` at most, and the number of the one that was committed last. */
export async function readCommitted(
  { store, keys }: Deps,
  partition: number,
  most: number,
): Promise<{ last: number; waiting: Committed[] }> {
  // The partition is the number of one of its accounts, too.
  const [last, found] = await accountSteps(store).readOutbox(keys.own(partition), most)
  return { last: Number(last), waiting: found.map(decodeCommitted) }
}

/** Lost with a crash or a failover: what is older was lost otherwise, and may be over for long. */
const RECENT_MS = 86_400_000
/** Where nothing is known to have been collected, more than so many are no loss of a moment: all that was known is gone. */
const FEW = 20

/**
 * What was committed after `mark` and up to `last`, and does not wait: the node of the deliveries had collected it, so it
 * left the outbox, and that node lost it again. The partition's log has the newest thousand. `mark` is 0 where nothing was
 * ever collected, as far as that node knows.
 */
export async function readLost(
  { store, keys }: Deps,
  partition: number,
  { mark, last, waiting }: { mark: number; last: number; waiting: readonly Committed[] },
  now: number,
): Promise<Committed[]> {
  const here = new Set(waiting.map(({ number }) => Number(number)).filter((number) => number > mark))
  if (mark + here.size >= last || (mark === 0 && last > FEW)) return []
  const isRecent = ({ measuredAt }: OutboxEntry['alert']) => now - Date.parse(measuredAt) < RECENT_MS
  // Where nothing is to be had, all of it would be read with each sweep.
  const { log } = keys.partition(partition)
  const [newest] = (await store.xrevrange(log, '+', '-', 'COUNT', 1)).map(decodeCommitted)
  if (newest === undefined || Number(newest.number) <= mark || !isRecent(newest.entry.alert)) return []
  const logged = (await store.xrange(log, '-', '+')).map(decodeCommitted)
  const isLost = (number: number) => number > mark && number <= last && !here.has(number)
  const lost = logged.filter(({ number, entry: { alert } }) => isLost(Number(number)) && isRecent(alert))
  return lost.map((one) => ({ ...one, id: NOT_IN_STREAM }))
}

function decodeCommitted([id, fields]: [id: string, fields: string[]]): Committed {
  return { id, entry: decodeEntry(fields[1] ?? ''), number: fields[3] ?? '' }
}
