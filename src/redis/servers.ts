import { Cluster, type Redis } from 'ioredis'
import { refusesWrites } from './away.ts'
import type { Store } from './connect.ts'

/** Facts that one Redis server reports; undefined where it doesn't. Sizes in bytes. */
export interface ServerFacts {
  /** `host:port`, or the path of its socket. */
  address: string
  version: string
  /** How long it took to answer. */
  pingMs: number
  evictionPolicy: string | undefined
  /** 0: no limit but the machine's. */
  maxMemory: number
  usedMemory: number
  evictedKeys: number
  appendOnly: boolean
  /** True where the last write to its append-only file, the last rewrite of it, and the last snapshot worked. */
  aofWorks: boolean
  rewriteWorks: boolean
  rdbWorks: boolean
  /** The rules for snapshots, `3600 1 ...`; empty for none. Many hosted servers don't show them. */
  snapshots: string | undefined
}

/** Every server that holds part of the data: one, or the masters of a cluster. */
export function readServers(store: Store): Promise<ServerFacts[]> {
  return Promise.all((store instanceof Cluster ? store.nodes('master') : [store]).map(readServer))
}

async function readServer(redis: Redis): Promise<ServerFacts> {
  const sentAt = performance.now()
  await redis.ping().catch((error: unknown) => {
    // One that can't write to its disk refuses even that: an answer it is.
    if (!refusesWrites(error)) throw error
  })
  const pingMs = performance.now() - sentAt
  const [info, snapshots] = await Promise.all([
    redis.info(),
    (redis.config('GET', 'save') as Promise<string[]>).then(([, rules]) => rules).catch(() => undefined),
  ])
  const facts = new Map(info.split('\r\n').map((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1)]))
  const number = (name: string) => Number(facts.get(name) ?? 0)
  const works = (name: string) => facts.get(name) !== 'err'
  const { path, host, port } = redis.options
  return {
    address: path ?? `${host}:${port}`,
    version: facts.get('redis_version') ?? '0',
    pingMs,
    evictionPolicy: facts.get('maxmemory_policy'),
    maxMemory: number('maxmemory'),
    usedMemory: number('used_memory'),
    evictedKeys: number('evicted_keys'),
    appendOnly: facts.get('aof_enabled') === '1',
    aofWorks: works('aof_last_write_status'),
    rewriteWorks: works('aof_last_bgrewrite_status'),
    rdbWorks: works('rdb_last_bgsave_status'),
    snapshots,
  }
}

/** A setting of a server that loses tokens one day, and the way out. */
export interface Peril {
  name: 'redis.eviction' | 'redis.persistence'
  detail: string
  fix: string
}

export function perilsOf(server: ServerFacts): Peril[] {
  return [evictionPeril(server), persistencePeril(server)].filter((peril) => peril !== undefined)
}

export function evictionPeril({ evictionPolicy: policy }: ServerFacts): Peril | undefined {
  if (policy === undefined || policy === 'noeviction') return undefined
  return { name: 'redis.eviction', detail: `${policy}: when memory is full it throws tokens away`, fix: NO_EVICTION }
}

export function persistencePeril({ appendOnly, aofWorks, rdbWorks, snapshots }: ServerFacts): Peril | undefined {
  const name = 'redis.persistence'
  if (!(aofWorks && rdbWorks)) {
    const fix = 'make room on its disk or fix its permissions; see its log'
    return { name, detail: 'the last write to disk failed', fix }
  }
  if (appendOnly || snapshots !== '') return undefined
  return { name, detail: 'off: a restart of the server loses every token', fix: APPEND_ONLY }
}

export const NO_EVICTION =
  'set maxmemory-policy noeviction: redis-cli config set maxmemory-policy noeviction, and in its config'
export const APPEND_ONLY = 'turn the append-only file on: redis-cli config set appendonly yes, and in its config'
