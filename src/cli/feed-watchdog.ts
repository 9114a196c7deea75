import type { HealthReport } from '../http/health.ts'

/**
 * While Redis is away no sweep ends, and a restart would mend nothing: it would lose what is held in memory until Redis is
 * back. Longer than any refused write is tried again, the fault may be our own connection.
 */
const REDIS_AWAY_MS = 15 * 60_000

/** Whether the service manager is told that work moves on. If not, it ends the daemon and starts another. */
export function feedsWatchdog({ alive, checks }: HealthReport, redisAwayMs: number): boolean {
  const isRedisAway = checks.some(({ name, ok }) => name === 'redis' && !ok)
  return isRedisAway ? redisAwayMs < REDIS_AWAY_MS : alive
}
