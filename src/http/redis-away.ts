import { isRedisAway } from '../redis/away.ts'
import type { Store } from '../redis/connect.ts'
import { Problem } from './problem.ts'

export function redisAway(): Problem {
  return new Problem(
    503,
    'Redis does not answer at the moment. Try again shortly.',
    { 'retry-after': '5' },
    [],
    'redis-away',
  )
}

/**
 * For work on a connection that waits as long as it takes: while Redis is away it must not even begin, or an operator waits at
 * an empty page.
 */
export async function requireRedis(store: Store): Promise<void> {
  try {
    await store.ping()
  } catch (error) {
    throw isRedisAway(error) ? redisAway() : error
  }
}
