import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectRedis, type Purpose, type Store } from '../../src/redis/connect.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { freePort } from './fleet.ts'
import { type RedisProcess, startRedisProcess } from './redis-process.ts'

/** A real Redis that a test talks to. */
export interface TestRedis {
  readonly url: string
  readonly port: number
  /** A connection as the daemon makes it; closed with the Redis, or after the file. */
  connect(purpose?: Purpose): Store
}

/** One of a test's own. */
export interface RedisServer extends TestRedis, RedisProcess {
  /** Ends the server and its connections. */
  stop(): Promise<void>
}

/** In memory only, unless a folder for its append-only file is given; `more` are arguments of its own. */
export async function startRedis(folder?: string, more: readonly string[] = []): Promise<RedisServer> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const stores: Store[] = []
  // It writes some there in any case: what a replica is sent, the slots of a Cluster.
  const own = mkdtempSync(join(tmpdir(), 'plimsoll-redis-'))
  const persistence = ['--appendonly', folder === undefined ? 'no' : 'yes', '--dir', folder ?? own]
  const process = await startRedisProcess(port, ['--save', '', ...persistence, ...more])
  return {
    ...process,
    url,
    connect: (purpose = 'steps') => {
      const store = connectRedis({ kind: 'url', url: new Secret(url) }, purpose, () => {})
      stores.push(store)
      return store
    },
    stop: async () => {
      for (const store of stores) store.disconnect()
      await process.end('SIGKILL')
      rmSync(own, { recursive: true, force: true })
    },
  }
}
