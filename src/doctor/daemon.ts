import { longestPauses, type Schedule } from '../../jobs/clock.ts'
import { DaemonStore, isSilent } from '../heartbeat/daemon-store.ts'
import { leftUndone } from '../heartbeat/roles.ts'
import { judgeHealth } from '../http/health.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
import type { RedisConnection } from './installation.ts'

const NAME = 'daemon'

/** Whether a daemon is at work on this Redis, here or on another machine: its sweeps leave their times. */
export async function checkDaemon(
  redis: RedisConnection,
  keys: Keys,
  schedule: Schedule,
  clock: Clock,
): Promise<Finding> {
  const found = await redis.store
    .then((store) => Promise.all([store.hgetall(keys.progress), new DaemonStore(store, keys).read()]))
    .catch(() => undefined)
  if (found === undefined) return warn(NAME, 'not known: Redis does not answer')
  const [progress, daemons] = found
  const missing = leftUndone(daemons.filter((daemon) => !isSilent(daemon, clock.now())))
  if (missing.length > 0) return fail(NAME, missing.join('; '), 'start one with that role')
  const times = Object.entries(progress).map(([kind, at]) => [kind, Number(at)] as const)
  return judgeSweeps(Object.fromEntries(times), longestPauses(schedule), clock.now())
}

/** `lastSweeps`: when a sweep of each kind last finished, ms. */
export function judgeSweeps(
  lastSweeps: Record<string, number>,
  expected: Record<string, number>,
  now: number,
): Finding {
  const start = 'start it: plimsoll start'
  const kinds = Object.keys(expected)
  if (kinds.every((kind) => lastSweeps[kind] === undefined))
    return warn(NAME, 'none has worked on this Redis yet', start)
  // As if it had been up for ever: a sweep that is missing is late.
  const { checks } = judgeHealth({ now, startedAt: 0, redisOk: true, lastSweeps, standstills: {}, expected })
  const sweeps = checks.filter(({ name }) => name.startsWith('sweep:'))
  const late = sweeps.filter(({ ok: isInTime }) => !isInTime)
  if (late.length === 0) return ok(NAME, 'at work: sweeps finish')
  if (late.length === sweeps.length) {
    const newest = Math.max(...kinds.map((kind) => lastSweeps[kind] ?? 0))
    return warn(NAME, `none is at work: the last sweep finished ${new Date(newest).toISOString()}`, start)
  }
  const details = late.map(({ name, detail }) => `${name.slice('sweep:'.length)} ${detail}`)
  return fail(NAME, `does not move in part: ${details.join('; ')}`, 'see its log, and restart it')
}
