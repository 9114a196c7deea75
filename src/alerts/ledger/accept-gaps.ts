import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Gap } from './ledger.ts'

/**
 * What is missing is dead from now on, for that somebody has looked into it: `alerts log` says who and, where the partition
 * remembers it, what it was. Returns how many transitions that are; others are not missing any more.
 */
export function acceptGaps(
  { store, keys }: { store: Store; keys: Keys },
  gaps: readonly Gap[],
  author: string,
  now: number,
): Promise<number> {
  const why = `it is missing, which ${author} accepted ${new Date(now).toISOString()}`
  return store.acceptGaps(
    ...[keys.delivery.ledger, now, why],
    ...gaps.flatMap(({ partition, first, last }) => [partition, first, last]),
  )
}
