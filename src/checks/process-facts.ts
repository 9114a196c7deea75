import type { ReceiverHealth } from '../delivery/receiver-health.ts'
import type { Oldest } from '../heartbeat/movement.ts'
import type { DataTrouble } from '../redis/installation.ts'

/** What a daemon knows of itself. Moments in ms. */
export interface ProcessFacts {
  now: number
  /** Undefined while it is still starting. */
  startedAt: number | undefined
  redisOk: boolean
  /** Since when Redis has answered, or has not; undefined: since the start. */
  redisSince?: number | undefined
  /** Where it answers and refuses: its words. */
  redisRefuses?: string | undefined
  /** What is wrong with what it holds. */
  dataTrouble?: DataTrouble | undefined
  /** What is wrong with new tokens that wait in the data folder. */
  answersTrouble?: string | undefined
  receivers?: readonly ReceiverHealth[]
  /** When a sweep of each kind last finished. */
  lastSweeps: Partial<Record<string, number>>
  /** The sweeps that there should be: kind -> the longest that may lie between two. */
  expected: Record<string, number>
  /** Of a clock whose ticks others follow: when it handed each kind on, and the longest that may lie between two. */
  ticks?: { last: Partial<Record<string, number>>; expected: Record<string, number> } | undefined
  /** For how long no job of a queue has ended in this process although some are under way, by queue. */
  standstills: Record<string, number>
  /** Of each kind of work the oldest in this process. */
  oldest?: readonly Oldest[]
  /** For how long jobs of a queue have waited while this process, which works on it, was idle, by queue. */
  untaken?: Record<string, number>
}

/** Whether its work can move: before its start nothing does, nor while Redis is away. */
export function canMove({ redisOk, startedAt }: ProcessFacts): boolean {
  return redisOk || startedAt === undefined
}

/** What waited while Redis was away has its full time again from its return on. */
export function sinceBack({ now, redisSince }: ProcessFacts): number {
  return Math.max(0, now - (redisSince ?? Number.NEGATIVE_INFINITY))
}

/** Since when its sweeps could finish. */
export function movesSince({ startedAt = 0, redisSince }: ProcessFacts): number {
  return Math.max(startedAt, redisSince ?? startedAt)
}
