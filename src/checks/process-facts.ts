import type { ReceiverHealth } from '../delivery/receiver-health.ts'
import type { Oldest } from '../heartbeat/movement.ts'
import type { DataTrouble } from '../redis/installation.ts'

/** State of one daemon. Moments in ms. */
export interface ProcessFacts {
  now: number
  /** Undefined while it is still starting. */
  startedAt: number | undefined
  redisOk: boolean
  /** Since when Redis has answered, or has not; undefined: since the start. */
  redisSince?: number | undefined
  /** The words of a Redis that answers and refuses. */
  redisRefuses?: string | undefined
  /** Trouble with the data in Redis. */
  dataTrouble?: DataTrouble | undefined
  /** Trouble with new tokens that wait in the data folder. */
  answersTrouble?: string | undefined
  receivers?: readonly ReceiverHealth[]
  /** Moment at which a sweep of each kind last finished. */
  lastSweeps: Partial<Record<string, number>>
  /** The sweeps that there should be: kind -> the longest that may lie between two. */
  expected: Record<string, number>
  /**
   * Set for a clock whose ticks other daemons follow: the moment it handed each kind on, and the longest pause between
   * two.
   */
  ticks?: { last: Partial<Record<string, number>>; expected: Record<string, number> } | undefined
  /** For how long no job of a queue has ended in this process although some are under way, by queue. */
  standstills: Record<string, number>
  /** The oldest work of each kind in this process. */
  oldest?: readonly Oldest[]
  /** For how long jobs of a queue have waited while this process, which works on it, was idle, by queue. */
  untaken?: Record<string, number>
}

/** True where its work can move: nothing does before its start, nor while Redis is away. */
export function canMove({ redisOk, startedAt }: ProcessFacts): boolean {
  return redisOk || startedAt === undefined
}

/** Time since the return of Redis: work that waited meanwhile has its full time again. */
export function sinceBack({ now, redisSince }: ProcessFacts): number {
  return Math.max(0, now - (redisSince ?? Number.NEGATIVE_INFINITY))
}

/** Since when its sweeps could finish. */
export function movesSince({ startedAt = 0, redisSince }: ProcessFacts): number {
  return Math.max(startedAt, redisSince ?? startedAt)
}
