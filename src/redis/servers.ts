import { Cluster, type Redis } from 'ioredis'
import type { Store } from './connect.ts'

/** What one Redis server says of itself; undefined where it doesn't say. Sizes in bytes. */
export interface ServerFacts {
  /** `host:port`, or the path of its socket. */
  address: string
  version: string
  evictionPolicy: string | undefined
  /** 0: no limit but the machine's. */
  maxMemory: number
  usedMemory: number
  appendOnly: boolean
  /** False once a write to the append-only file, or a snapshot, has failed. */
  savesWork: boolean
  /** The rules for snapshots, `3600 1 ...`; empty for none. Many hosted servers don't say. */
  snapshots: string | undefined
}

/** Every server that holds part of the data: one, or the masters of a cluster. */
export function readServers(store: Store): Promise<ServerFacts[]> {
  return Promise.all(serversOf(store).map(readServer))
}

/** What a server has to carry, and how long it takes to answer. */
export interface ServerLoad {
  pingMs: number
  /** Bytes; the most that there may be is 0 where only the machine limits it. */
  usedMemory: number
  maxMemory: number
  evictedKeys: number
  /** Whether the last write of its append-only file, and of its snapshot, worked. */
  aofWorks: boolean
  rdbWorks: boolean
}

/** The same servers. `steady` is a clock that nobody sets, ms. */
export function readServerLoad(store: Store, steady: () => number): Promise<ServerLoad[]> {
  return Promise.all(serversOf(store).map((redis) => readLoad(redis, steady)))
}

async function readLoad(redis: Redis, steady: () => number): Promise<ServerLoad> {
  const sentAt = steady()
  await redis.ping()
  const pingMs = steady() - sentAt
  const facts = factsOf(await redis.info())
  const number = (name: string) => Number(facts.get(name) ?? 0)
  return {
    pingMs,
    usedMemory: number('used_memory'),
    maxMemory: number('maxmemory'),
    evictedKeys: number('evicted_keys'),
    aofWorks: facts.get('aof_last_write_status') !== 'err' && facts.get('aof_last_bgrewrite_status') !== 'err',
    rdbWorks: facts.get('rdb_last_bgsave_status') !== 'err',
  }
}

function serversOf(store: Store): Redis[] {
  return store instanceof Cluster ? store.nodes('master') : [store]
}

function factsOf(info: string): Map<string, string> {
  return new Map(info.split('\r\n').map((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1)]))
}

async function readServer(redis: Redis): Promise<ServerFacts> {
  const [info, snapshots] = await Promise.all([
    redis.info(),
    (redis.config('GET', 'save') as Promise<string[]>).then(([, rules]) => rules).catch(() => undefined),
  ])
  const facts = factsOf(info)
  const { path, host, port } = redis.options
  return {
    address: path ?? `${host}:${port}`,
    version: facts.get('redis_version') ?? '0',
    evictionPolicy: facts.get('maxmemory_policy'),
    maxMemory: Number(facts.get('maxmemory') ?? 0),
    usedMemory: Number(facts.get('used_memory') ?? 0),
    appendOnly: facts.get('aof_enabled') === '1',
    savesWork: facts.get('aof_last_write_status') !== 'err' && facts.get('rdb_last_bgsave_status') !== 'err',
    snapshots,
  }
}
