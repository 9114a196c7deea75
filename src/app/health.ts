import { longestPauses } from '../../jobs/clock.ts'
import { readWaiting } from '../../jobs/queue-depths.ts'
import type { ProcessFacts } from '../checks/process-facts.ts'
import { ReceiverStore } from '../delivery/receiver-health.ts'
import type { Role } from '../heartbeat/daemons.ts'
import type { Store } from '../redis/connect.ts'
import type { DataTrouble } from '../redis/installation.ts'
import type { Services } from './services.ts'

/** Work of this daemon, and its progress. */
export interface OwnProgress {
  roles: ReadonlySet<Role>
  /** Undefined while it is still starting, ms. */
  startedAt: number | undefined
  /** Moments at which it handed on a tick of each kind, ms. */
  ticks: Partial<Record<string, number>>
  /** Trouble with the data in Redis, by the last check. */
  dataTrouble: DataTrouble | undefined
  /** Trouble with answers in its data folder. */
  answersTrouble: string | undefined
}

/** Reads what this daemon knows of itself, by the services of the moment, on the connection of the pages. */
export function processFactsOf(
  current: () => Services,
  pages: Store,
  own: () => OwnProgress,
): () => Promise<ProcessFacts> {
  let redisState = { ok: true, since: current().clock.steady() }
  return async () => {
    const { keys, queues, clock, movement, config } = current()
    const { roles, startedAt, ticks, dataTrouble, answersTrouble } = own()
    let redisRefuses: string | undefined
    // A write, because a Redis that only reads is of no use: no account could be claimed. Before the start it isn't ours to write to.
    const [, sweeps, receivers, waiting] = await Promise.all([
      startedAt === undefined ? pages.ping() : pages.hset(keys.fleet, 'probe', clock.now()),
      pages.hgetall(keys.fleet),
      new ReceiverStore(pages, keys).read(),
      roles.has('worker') ? readWaiting(queues, pages, clock.now()) : [],
    ]).catch((error: unknown) => {
      if (error instanceof Error && error.name === 'ReplyError') redisRefuses = error.message
      return []
    })
    const now = clock.now()
    const [steady, redisOk] = [clock.steady(), sweeps !== undefined]
    if (redisOk !== redisState.ok) redisState = { ok: redisOk, since: steady }
    return {
      now,
      startedAt,
      redisOk,
      redisSince: now - (steady - redisState.since),
      redisRefuses,
      dataTrouble,
      answersTrouble,
      receivers: receivers ?? [],
      lastSweeps: Object.fromEntries(Object.entries(sweeps ?? {}).map(([kind, at]) => [kind, Number(at)])),
      standstills: movement.standstills(),
      oldest: movement.oldest(),
      untaken: movement.untaken(waiting ?? []),
      ...expectedOf(roles, config, ticks),
    }
  }
}

/** Expected only of a daemon that works, or ticks, itself: a restart of this one would not change the others. */
function expectedOf(roles: ReadonlySet<Role>, config: Services['config'], last: OwnProgress['ticks']) {
  const expected = sweepPauses(config)
  if (!roles.has('clock')) return { expected: {} }
  return roles.has('worker') ? { expected } : { expected: {}, ticks: { last, expected } }
}

/** The longest that may lie between two sweeps of a kind. A parked grant takes up to three calls, and three pauses may go by. */
export function sweepPauses({ schedule, provider }: Services['config']): Record<string, number> {
  const pauses = longestPauses(schedule)
  return { ...pauses, grants: pauses.grants + provider.timeout }
}
