import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { loadScripts } from '../../src/redis/scripts.ts'
import { startRedis } from '../support/redis-server.ts'

/** Where the steps read the time of Redis: it is the world's. */
const CLOCK = 'clock-of-redis'

/** A real Redis by its socket, one command at a time: by TCP, and with pipelines, a run takes half as long again. */
export async function startOwnRedis(): Promise<{ store: Store; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-simulation-'))
  const socket = join(folder, 'socket')
  const redis = await startRedis(undefined, ['--unixsocket', socket])
  const store = connectRedis({ kind: 'embedded', socket }, 'queues', () => {})
  for (const [name, { lua, numberOfKeys }] of Object.entries(loadScripts(0))) {
    const own = lua.replaceAll("redis.call('TIME')", `redis.call('HMGET', '${CLOCK}', 's', 'us')`)
    if (own !== lua) store.defineCommand(name, { lua: own, ...(numberOfKeys === undefined ? {} : { numberOfKeys }) })
  }
  return {
    store,
    stop: async () => {
      store.disconnect()
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export async function setRedisClock(store: Store, ms: number): Promise<void> {
  await store.hset(CLOCK, 's', Math.floor(ms / 1_000), 'us', (ms % 1_000) * 1_000)
}

/** What Redis may refuse writes for, as `CONFIG` and `REPLICAOF` make it. */
export const REFUSALS = ['NOREPLICAS', 'OOM', 'READONLY'] as const
export type Refusal = (typeof REFUSALS)[number]

export async function refuseWrites(store: Store, why: Refusal): Promise<void> {
  if (why === 'NOREPLICAS') await store.config('SET', 'min-replicas-to-write', '1')
  else if (why === 'OOM') await store.config('SET', 'maxmemory', '1')
  else await store.replicaof('127.0.0.1', 1)
}

export async function takeWrites(store: Store): Promise<void> {
  await store.config('SET', 'min-replicas-to-write', '0', 'maxmemory', '0')
  await store.replicaof('NO', 'ONE')
}
