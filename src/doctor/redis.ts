import { refusesWrites } from '../redis/away.ts'
import type { AskedNode, Store } from '../redis/connect.ts'
import { judgeFormat, readFormat } from '../redis/format.ts'
import type { Keys } from '../redis/keys.ts'
import {
  APPEND_ONLY,
  evictionPeril,
  NO_EVICTION,
  persistencePeril,
  readServers,
  type ServerFacts,
} from '../redis/servers.ts'
import type { Clock } from '../runtime/clock.ts'
import { networkFailure } from '../runtime/network-failure.ts'
import type { RedisConnection } from './check.ts'
import { type Finding, fail, ok, warn } from './check.ts'

const PINGS = 10
const SLOW_MS = 50
/** A refresh is a handful of steps; at this pace a fleet is late. */
const TOO_SLOW_MS = 500

/** Redis answers, keeps its data, and takes more. */
export async function checkRedis(redis: RedisConnection, keys: Keys, clock: Clock): Promise<Finding[]> {
  const store = await redis.store
  const nodes = await redis.askNodes()
  const failures = nodes.filter(({ error }) => error !== undefined)
  // The client of all of them would only report that none can be used.
  if (failures.length > 0 && failures.length === nodes.length) {
    return failures.map((failure) => judgeNode(failure, 'fail'))
  }
  try {
    await answerOf(store, clock, redis.waitMs)
  } catch (error) {
    const cause = redis.lastError() ?? error
    // A server that can't write to its disk refuses even that.
    if (refusesWrites(cause)) return [refusedWrites(cause), ...(await checkSettings(store, redis.isPrivate === true))]
    const fix = 'check redis in the config, and that the server runs and accepts connections from this machine'
    // Redis is there, and busy: the error names what was waited for.
    if (isTimeout(cause)) return [fail('redis', cause.message, `${fix}; --timeout 1m waits longer`)]
    return [fail('redis', `does not answer: ${wordsOf(cause)}`, fix)]
  }
  const format = await checkStoredFormat(store, keys)
  const [pace, write, settings] = await Promise.all([
    checkPace(store, clock),
    // Data of a newer version is not ours to write to.
    format.level === 'fail' ? [] : checkWrite(store, keys, clock.now()).then((finding) => [finding]),
    checkSettings(store, redis.isPrivate === true),
  ])
  return [pace, ...failures.map((failure) => judgeNode(failure, 'warn')), ...write, format, ...settings]
}

/** The client of a cluster asks on without end while it has no node. */
async function answerOf(store: Store, clock: Clock, waitMs = 2_000): Promise<void> {
  if (!store.isCluster) {
    await store.ping()
    return
  }
  const answered = new AbortController()
  const late = async () => {
    await clock.wait(waitMs + 500, answered.signal)
    throw new Error(`Command timed out: Redis did not answer PING within ${(waitMs + 500) / 1_000} s`)
  }
  try {
    await Promise.race([store.ping(), late()])
  } finally {
    answered.abort()
  }
}

function judgeNode({ node, error }: AskedNode, level: 'fail' | 'warn'): Finding {
  const detail = `${node} can't be used: ${error === undefined || hasWords(error) ? wordsOf(error) : error.message}`
  const fix = 'check redis in the config: names, tls, username and password, sentinelUsername and sentinelPassword'
  return level === 'fail' ? fail('redis', detail, fix) : warn('redis.nodes', detail, fix)
}

/** Errors of `askNodes` itself, or of the client, have no code. */
function hasWords(error: Error): boolean {
  return 'code' in error || isRefusal(error)
}

/** Words of the server for an answer, ours for an error of the connection. */
function wordsOf(error: unknown): string {
  return isRefusal(error) ? error.message.replace(HELLO, 'it asks for a password') : networkFailure(error)
}

/** An answer to the greeting, which is about the greeting. */
const HELLO = /(?<=^NOAUTH ).*HELLO.*$/

async function checkStoredFormat(store: Store, keys: Keys): Promise<Finding> {
  const problem = judgeFormat(await readFormat(store, keys))
  if (problem === undefined) return ok('redis.format', 'data that this version reads')
  return fail('redis.format', problem, 'see config/deploy/README.md, Upgrade and Downgrade')
}

async function checkPace(store: Store, clock: Clock): Promise<Finding> {
  const begun = clock.now()
  for (let ping = 0; ping < PINGS; ping++) await store.ping()
  return judgePace((clock.now() - begun) / PINGS)
}

export function judgePace(ms: number): Finding {
  const detail = `answers in ${ms < 1 ? 'less than 1' : Math.round(ms)} ms`
  const fix = 'use a Redis nearer to the daemon, and check for slow commands of others: redis-cli slowlog get'
  if (ms > TOO_SLOW_MS) return fail('redis', detail, fix)
  return ms > SLOW_MS ? warn('redis', detail, fix) : ok('redis', detail)
}

async function checkWrite(store: Store, keys: Keys, now: number): Promise<Finding> {
  try {
    // The same write as a daemon's probes make.
    await store.hset(keys.fleet, 'probe', now)
    // A message that starts no sweep: without the right to publish, daemons find each other's work at their ticks only.
    await store.publish(`${keys.queues}:wakes`, 'probe')
    return ok('redis.write', 'accepts writes')
  } catch (error) {
    if (!isRefusal(error)) throw error
    return refusedWrites(error)
  }
}

function refusedWrites({ message }: Error): Finding {
  const [word = ''] = message.split(' ')
  return fail('redis.write', `refuses writes: ${message}`, REFUSED_WRITES[word] ?? 'see the log of the Redis server')
}

const REFUSED_WRITES: Record<string, string> = {
  READONLY: 'this server is a replica: point redis at the master',
  MISCONF: 'the server cannot save to its disk: make room or fix its permissions, then see its log',
  OOM: 'raise maxmemory of the server',
  NOPERM:
    'allow the Redis user all commands on the keys of redis.prefix and, with it as PREFIX, the channel &{PREFIX}:wakes',
}

async function checkSettings(store: Store, isPrivate: boolean): Promise<Finding[]> {
  let servers: ServerFacts[]
  try {
    servers = await readServers(store)
  } catch (error) {
    if (!isRefusal(error)) throw error
    const fix = 'allow the Redis user the command INFO'
    return [warn('redis.settings', 'INFO is not allowed: version, eviction, persistence and memory are not known', fix)]
  }
  const several = servers.length > 1
  return servers.flatMap((server) =>
    judgeServer(server, isPrivate).map((finding) =>
      several ? { ...finding, detail: `${server.address}: ${finding.detail}` } : finding,
    ),
  )
}

export function judgeServer(server: ServerFacts, isPrivate = false): Finding[] {
  return [judgeVersion(server), judgeEviction(server), judgePersistence(server, isPrivate), judgeMemory(server)]
}

const LEAST_VERSION = [6, 2] as const

function judgeVersion({ version }: ServerFacts): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor >= LEAST_VERSION[1])
  return isEnough
    ? ok('redis.version', version)
    : fail('redis.version', `${version} is too old`, `run Redis ${LEAST_VERSION.join('.')} or newer`)
}

function judgeEviction(server: ServerFacts): Finding {
  const name = 'redis.eviction'
  const peril = evictionPeril(server)
  if (peril !== undefined) return fail(name, peril.detail, peril.fix)
  const { evictionPolicy: policy } = server
  return policy === undefined ? warn(name, 'the server does not show it', NO_EVICTION) : ok(name, policy)
}

function judgePersistence(server: ServerFacts, isPrivate: boolean): Finding {
  const name = 'redis.persistence'
  const peril = persistencePeril(server)
  if (peril !== undefined) return fail(name, peril.detail, peril.fix)
  if (server.appendOnly) return ok(name, isPrivate ? 'append-only file' : REWRITTEN_BY_OTHERS)
  return server.snapshots === undefined
    ? warn(name, 'no append-only file, and the server does not show whether it makes snapshots', APPEND_ONLY)
    : warn(name, 'snapshots only: a crash loses the tokens of the last minutes', APPEND_ONLY)
}

/** The daemon itself starts it on the private server. */
const REWRITTEN_BY_OTHERS =
  'append-only file; what is deleted leaves it when you have it rewritten, best once a day: redis-cli bgrewriteaof'

const MUCH = 0.75
const NEARLY_ALL = 0.95

function judgeMemory({ usedMemory, maxMemory }: ServerFacts): Finding {
  const used = megabytes(usedMemory)
  if (maxMemory === 0) return ok('redis.memory', `${used} used, no maxmemory`)
  const detail = `${used} of ${megabytes(maxMemory)} used`
  const fix = 'raise maxmemory, or keep a shorter history: limits.history'
  if (usedMemory >= NEARLY_ALL * maxMemory) return fail('redis.memory', detail, fix)
  return usedMemory >= MUCH * maxMemory ? warn('redis.memory', detail, fix) : ok('redis.memory', detail)
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(bytes < 10 * 2 ** 20 ? 1 : 0)} MB`
}

function isTimeout(error: unknown): error is Error {
  return error instanceof Error && error.message.startsWith('Command timed out')
}

/** An answer of the server, rather than a connection that failed. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError'
}
