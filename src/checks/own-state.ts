import { type Check, inSeconds, workFinding } from './check.ts'
import { canMove } from './process-facts.ts'

/** While Redis is away nothing moves, and a restart would not help. After so long the fault may be our own connection. */
const REDIS_AWAY_MS = 15 * 60_000

/** The process has started, and reaches the Redis with the data that it held before. */
export const ownState: Check = {
  name: 'state',
  of: 'process',
  judge({ startedAt, redisOk, redisRefuses, dataTrouble, answersTrouble }) {
    const [redisFails, starts] = [redisOk ? 'ok' : 'critical', startedAt === undefined ? 'warning' : 'ok'] as const
    const away = redisRefuses === undefined ? 'does not answer' : `refuses: ${redisRefuses}`
    // Accounts that connect to an emptied Redis are lost again once a backup takes its place.
    const isLost = dataTrouble?.isOurs === false
    return [
      { name: 'started', level: starts, says: starts === 'ok' ? 'started' : 'still starting', stops: 'requests' },
      { name: 'redis', level: redisFails, says: redisOk ? 'answers' : away, stops: 'requests' },
      {
        name: 'data',
        level: dataTrouble === undefined ? 'ok' : 'critical',
        says: dataTrouble?.detail ?? 'unchanged',
        ...(isLost && { stops: 'requests' }),
      },
      // Sealed tokens make no daemon less ready.
      { name: 'sealed-tokens', level: answersTrouble ? 'critical' : 'ok', says: answersTrouble ?? 'all open' },
    ]
  },
}

export const ownWait: Check = {
  name: 'waiting',
  of: 'process',
  judge(facts) {
    const { now, startedAt = now, redisSince = startedAt } = facts
    const awayMs = now - redisSince
    const says = `nothing can move without Redis, away for ${inSeconds(awayMs)} s`
    return canMove(facts) ? [] : [workFinding('waiting', awayMs < REDIS_AWAY_MS, says)]
  },
}
