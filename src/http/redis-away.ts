import type { Store } from '../redis/connect.ts'
import { Problem } from './problem.ts'

const ERROR_NAMES = new Set(['MaxRetriesPerRequestError', 'ClusterAllFailedError', 'AbortError'])
const ERROR_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'])
/** Not there, not there yet, busy with a client's script, or there and refusing every write. */
const MESSAGES =
  /^(Command timed out|Connection is closed|Stream isn't writeable|(LOADING|CLUSTERDOWN|MASTERDOWN|OOM|NOREPLICAS|READONLY|MISCONF|BUSY) )/

/** Whether a step failed because Redis can't be reached, rather than by its own fault. */
export function isRedisAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code = '', syscall } = error as NodeJS.ErrnoException
  // A file of ours that is missing is our fault; a socket that is missing is a Redis that is away.
  if (code === 'ENOENT' && syscall !== 'connect') return false
  return ERROR_NAMES.has(error.name) || ERROR_CODES.has(code) || MESSAGES.test(error.message)
}

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
 * For what goes on with a connection that waits as long as it takes: while Redis is away it must not even begin, or
 * an operator waits at an empty page.
 */
export async function requireRedis(store: Store): Promise<void> {
  try {
    await store.ping()
  } catch (error) {
    throw isRedisAway(error) ? redisAway() : error
  }
}
