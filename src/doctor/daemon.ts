import { configFingerprint } from '../../config/in-force.ts'
import { longestPauses, type Schedule } from '../../jobs/clock.ts'
import { DaemonStore, isSilent, leftUndone } from '../heartbeat/daemons.ts'
import { judgeHealth } from '../http/health.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { createVault } from '../tokens/vault.ts'
import { liveWriters } from '../tokens/vault-keys.ts'
import { type Finding, fail, type Installation, ok, type RedisConnection, warn } from './check.ts'
import { keysOf } from './config-and-keys.ts'

const DAEMON = 'daemon'

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
  if (found === undefined) return warn(DAEMON, 'not known: Redis does not answer')
  const [progress, daemons] = found
  const missing = leftUndone(daemons.filter((daemon) => !isSilent(daemon, clock.now())))
  if (missing.length > 0) return fail(DAEMON, missing.join('; '), 'start one with that role')
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
    return warn(DAEMON, 'none has worked on this Redis yet', start)
  // As if it had been up for ever: a sweep that is missing is late.
  const { checks } = judgeHealth({ now, startedAt: 0, redisOk: true, lastSweeps, standstills: {}, expected })
  const sweeps = checks.filter(({ name }) => name.startsWith('sweep:'))
  const late = sweeps.filter(({ ok: isInTime }) => !isInTime)
  if (late.length === 0) return ok(DAEMON, 'at work: sweeps finish')
  if (late.length === sweeps.length) {
    const newest = Math.max(...kinds.map((kind) => lastSweeps[kind] ?? 0))
    return warn(DAEMON, `none is at work: the last sweep finished ${new Date(newest).toISOString()}`, start)
  }
  const details = late.map(({ name, detail }) => `${name.slice('sweep:'.length)} ${detail}`)
  return fail(DAEMON, `some work does not move: ${details.join('; ')}`, 'see its log, and restart it')
}

const IN_FORCE = 'config.in-force'

/** Whether the daemons at work work by this file, or by what it was before. */
export async function checkInForce({ config, redis, keys, vaultKeys }: Installation): Promise<Finding> {
  const alive = await redis.store
    .then(async (store) => {
      const writers = new Set((await liveWriters({ store, keys })).map(({ daemon }) => daemon))
      return (await new DaemonStore(store, keys).read()).filter(({ name }) => writers.has(name))
    })
    .catch(() => undefined)
  if (alive === undefined) return warn(IN_FORCE, 'not known: Redis does not answer')
  const ring = keysOf({ vaultKeys, config })
  if (alive.length === 0 || ring === undefined) return ok(IN_FORCE, 'no daemon is at work')
  const ours = configFingerprint(config, createVault(ring).derive('config'))
  return judgeInForce(alive.filter(({ config: inForce }) => inForce !== ours).map(({ name }) => name))
}

/** `others`: daemons whose config is not that of the file. */
function judgeInForce(others: readonly string[]): Finding {
  if (others.length === 0) return ok(IN_FORCE, 'every daemon works by this file')
  const fix = 'send SIGHUP (systemctl reload plimsoll); the log names what needs a restart (config.reloaded)'
  return warn(IN_FORCE, `another config than this file is in force: ${others.join(', ')}`, fix)
}
