import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/** Moments of the next checks of alerts that some receiver may not have been sent, ms; null: there are none. */
export interface NewsDue {
  /** Moment since which there is news that no daemon has read. */
  newSince: number | null
  /** The first check of the rest. */
  dueAt: number | null
}

export async function readNewsDue({ store, keys }: { store: Store; keys: Keys }): Promise<NewsDue> {
  const [[, due], [, news]] = await Promise.all([
    store.zrangebyscore(keys.newsDue, '(0', '+inf', 'WITHSCORES', 'LIMIT', 0, 1),
    store.zrevrangebyscore(keys.newsDue, 0, '-inf', 'WITHSCORES', 'LIMIT', 0, 1),
  ])
  return { dueAt: due === undefined ? null : Number(due), newSince: news === undefined ? null : -Number(news) }
}
