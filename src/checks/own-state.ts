import { type Check, inSeconds } from './check.ts'
import { canMove } from './process-facts.ts'

/** While Redis is away nothing moves, and a restart would not help. After so long the fault may be our own connection. */
const REDIS_AWAY_MS = 15 * 60_000

export const started: Check = {
  name: 'started',
  of: 'process',
  judge: ({ startedAt }) => [
    startedAt === undefined
      ? { name: 'started', level: 'warning', says: 'still starting', stops: 'requests' }
      : { name: 'started', level: 'ok', says: 'started' },
  ],
}

export const ownRedis: Check = {
  name: 'redis',
  of: 'process',
  judge({ redisOk, redisRefuses }) {
    const trouble = redisRefuses === undefined ? 'does not answer' : `refuses: ${redisRefuses}`
    return [
      redisOk
        ? { name: 'redis', level: 'ok', says: 'answers' }
        : { name: 'redis', level: 'critical', says: trouble, stops: 'requests' },
    ]
  },
}

/** What is connected or asked for in an emptied Redis is lost again once a backup takes its place. */
export const data: Check = {
  name: 'data',
  of: 'process',
  judge: ({ dataTrouble }) => [
    dataTrouble === undefined
      ? { name: 'data', level: 'ok', says: 'unchanged' }
      : {
          ...{ name: 'data', level: 'critical', says: dataTrouble.detail },
          ...(dataTrouble.isOurs ? {} : { stops: 'requests' }),
        },
  ],
}

/** They make no daemon less ready. */
export const sealedTokens: Check = {
  name: 'sealed-tokens',
  of: 'process',
  judge: ({ answersTrouble }) => [
    {
      name: 'sealed-tokens',
      level: answersTrouble === undefined ? 'ok' : 'critical',
      says: answersTrouble ?? 'all open',
    },
  ],
}

export const waiting: Check = {
  name: 'waiting',
  of: 'process',
  judge(facts) {
    if (canMove(facts)) return []
    const { now, startedAt = now, redisSince = startedAt } = facts
    const awayMs = now - redisSince
    const says = `nothing can move without Redis, away for ${inSeconds(awayMs)} s`
    return [{ name: 'waiting', level: awayMs < REDIS_AWAY_MS ? 'ok' : 'critical', says, stops: 'work' }]
  },
}
