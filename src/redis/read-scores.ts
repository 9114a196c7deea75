import { chunksOf } from '../runtime/chunks-of.ts'
import type { Store } from './connect.ts'

/** All of a sorted set that stays small. */
export async function readScores(store: Store, key: string): Promise<Map<string, number>> {
  const found = await store.zrange(key, 0, '-1', 'WITHSCORES')
  return new Map(chunksOf(found, 2).map(([member = '', score]) => [member, Number(score)]))
}
