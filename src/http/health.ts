import type { DataTrouble } from '../redis/installation.ts'
import { RECEIVERS } from '../views/fleet-verdict.ts'

/** How the daemon is, for probes. */
export interface HealthReport {
  /** Work moves on: sweeps finish. Where it doesn't, a restart is worth a try. */
  alive: boolean
  /** Worth sending requests to. */
  ready: boolean
  checks: HealthCheck[]
}

export interface HealthCheck {
  name: string
  ok: boolean
  detail: string
}

export interface HealthFacts {
  now: number
  /** Undefined while it is still starting. */
  startedAt: number | undefined
  redisOk: boolean
  /** Since when Redis has answered, or has not, ms; undefined: since the start. */
  redisSince?: number | undefined
  /** Where it answers and refuses: its words. */
  redisRefuses?: string | undefined
  /** What is wrong with what it holds. */
  dataTrouble?: DataTrouble | undefined
  /** What is wrong with new tokens that wait in the data folder. They make no daemon less ready. */
  answersTrouble?: string | undefined
  /** Receivers that need an operator. They make no daemon less ready. */
  failingReceivers?: readonly string[]
  /** When a sweep of each kind last finished, ms. */
  lastSweeps: Partial<Record<string, number>>
  /** For how long no job of a queue has ended in this process although some are under way, ms by queue. */
  standstills: Record<string, number>
  /** Of each kind of work the oldest in this process; for how long it has been, and may be, ms. */
  oldest?: readonly { what: string; hubId: number | undefined; ms: number; longestMs: number }[]
  /** For how long jobs of a queue have waited while this process, which works on it, was idle, ms by queue. */
  untaken?: Record<string, number>
  /** The sweeps that there should be: kind -> the longest that may lie between two, ms. */
  expected: Record<string, number>
  /** Of a clock whose ticks others follow: when it handed each kind on, ms, and the longest that may lie between two. */
  ticks?: { last: Partial<Record<string, number>>; expected: Record<string, number> } | undefined
}

/** Longer than any job takes whose calls all run into their deadline. */
const LONGEST_STANDSTILL_MS = 120_000
/** Longer than a lost connection takes to be noticed and replaced. */
const LONGEST_UNTAKEN_MS = 45_000
const GRACE_MS = 15_000
const PERIODS = 3
/** While Redis is away nothing moves, and a restart would not help. After so long the fault may be our own connection. */
const REDIS_AWAY_MS = 15 * 60_000

/** Alive means making progress, not merely running: sweeps finish, and jobs that are under way end, each of them. */
export function judgeHealth(facts: HealthFacts): HealthReport {
  const started = facts.startedAt !== undefined
  const moving = facts.redisOk || !started ? judgeMoves(facts) : [judgeWait(facts)]
  return {
    alive: moving.every((check) => check.ok),
    // What is connected or asked for in an emptied Redis is lost again once a backup takes its place.
    ready: facts.redisOk && started && facts.dataTrouble?.isOurs !== false,
    checks: [
      { name: 'started', ok: started, detail: started ? 'started' : 'still starting' },
      judgeRedis(facts),
      { name: 'data', ok: facts.dataTrouble === undefined, detail: facts.dataTrouble?.detail ?? 'unchanged' },
      { name: 'sealed-tokens', ok: facts.answersTrouble === undefined, detail: facts.answersTrouble ?? 'all open' },
      ...moving,
      judgeReceivers(facts.failingReceivers ?? []),
    ],
  }
}

function judgeMoves(facts: HealthFacts): HealthCheck[] {
  // What waited while Redis was away has its full time again from its return on.
  const sinceBack = Math.max(0, facts.now - (facts.redisSince ?? Number.NEGATIVE_INFINITY))
  return [
    ...Object.entries(facts.expected).map(([kind, periodMs]) =>
      judgePace(facts, { name: `sweep:${kind}`, done: 'finished', last: facts.lastSweeps[kind], periodMs }),
    ),
    ...Object.entries(facts.ticks?.expected ?? {}).map(([kind, periodMs]) =>
      judgePace(facts, { name: `tick:${kind}`, done: 'handed on', last: facts.ticks?.last[kind], periodMs }),
    ),
    ...Object.entries(facts.standstills).map(([queue, ms]) => judgeQueue(queue, Math.min(ms, sinceBack))),
    ...(facts.oldest ?? []).map((one) => judgeOldest(one, sinceBack)),
    ...Object.entries(facts.untaken ?? {}).map(([queue, ms]) => judgeWorker(queue, Math.min(ms, sinceBack))),
  ]
}

function judgeWait({ now, startedAt = now, redisSince = startedAt }: HealthFacts): HealthCheck {
  const awayMs = now - redisSince
  const detail = `nothing can move without Redis, away for ${inSeconds(awayMs)} s`
  return { name: 'waiting', ok: awayMs < REDIS_AWAY_MS, detail }
}

function judgeRedis({ redisOk, redisRefuses }: HealthFacts): HealthCheck {
  const trouble = redisRefuses === undefined ? 'does not answer' : `refuses: ${redisRefuses}`
  return { name: 'redis', ok: redisOk, detail: redisOk ? 'answers' : trouble }
}

function judgeReceivers(failing: readonly string[]): HealthCheck {
  const detail = failing.length === 0 ? 'none is known to fail' : `${failing.join(', ')}: alerts are not delivered`
  return { name: RECEIVERS, ok: failing.length === 0, detail }
}

function judgePace(
  { now, startedAt, redisSince }: HealthFacts,
  { name, done, last, periodMs }: { name: string; done: string; last: number | undefined; periodMs: number },
): HealthCheck {
  if (startedAt === undefined) return { name, ok: true, detail: 'not expected before the start' }
  const allowedMs = PERIODS * periodMs + GRACE_MS
  // Never earlier than the start, or Redis' return: who was down for an hour is not stuck for an hour when it comes up.
  // One from the future was noted before the clock was set back, or by a daemon whose clock is ahead.
  const isFromFuture = last !== undefined && last - now > GRACE_MS
  const known = isFromFuture ? undefined : last
  const quietMs = now - Math.max(known ?? startedAt, startedAt, redisSince ?? startedAt)
  const finished = known === undefined ? `none ${done} yet` : `last ${done} ${inSeconds(now - known)} s ago`
  if (isFromFuture && quietMs > allowedMs) {
    return { name, ok: false, detail: `last ${done} in the future: the clock was set back` }
  }
  return { name, ok: quietMs <= allowedMs, detail: `${finished}, at most ${inSeconds(allowedMs)} s allowed` }
}

function judgeQueue(queue: string, standstillMs: number): HealthCheck {
  const detail = standstillMs === 0 ? 'moves' : `no job has ended for ${inSeconds(standstillMs)} s`
  return { name: `queue:${queue}`, ok: standstillMs <= LONGEST_STANDSTILL_MS, detail }
}

/** Even if all else moves: what hangs may hold a resource that others wait for. */
function judgeOldest(
  { what, hubId, ms, longestMs }: NonNullable<HealthFacts['oldest']>[number],
  sinceBack: number,
): HealthCheck {
  const [heldMs, whose] = [Math.min(ms, sinceBack), hubId === undefined ? '' : ` of account ${hubId}`]
  const held = `the oldest${whose} has run for ${inSeconds(heldMs)} s, at most ${inSeconds(longestMs)} s allowed`
  return { name: `oldest:${what}`, ok: heldMs <= longestMs, detail: ms === 0 ? 'none is running' : held }
}

function judgeWorker(queue: string, untakenMs: number): HealthCheck {
  const ok = untakenMs <= LONGEST_UNTAKEN_MS
  const detail = ok ? 'takes jobs' : `jobs wait, and none was taken for ${inSeconds(untakenMs)} s`
  return { name: `worker:${queue}`, ok, detail }
}

function inSeconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1000))
}
