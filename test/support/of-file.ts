import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, inject } from 'vitest'
import { connectRedis, type Purpose, type Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { BUSY_MS, type RedisProcess, type RedisServer, startRedis, type TestRedis } from './redis-server.ts'

/** The Redis that the tests of a file share; declared at its top. */
interface FileRedis extends TestRedis {
  /** One connection for all tests of the file. */
  readonly store: Store
  /** Of no other test. */
  freshKeys(): Keys
}

export function freshKeys(): Keys {
  return createKeys(`test-${randomBytes(6).toString('hex')}`)
}

/** The Redis of this worker, empty. Its settings and users stay as they are: who changes those, or ends it, takes `serverOfFile`. */
export function redisOfFile(): FileRedis {
  const port = inject('redisPorts')?.[Number(process.env.VITEST_POOL_ID) - 1]
  if (port === undefined) return serverOfFile()
  const url = `redis://127.0.0.1:${port}`
  const opened: Store[] = []
  const connect = (purpose: Purpose = 'steps') => {
    const store = connectRedis({ kind: 'url', url: new Secret(url) }, purpose, () => {}, BUSY_MS)
    opened.push(store)
    return store
  }
  let store: Store | undefined
  const redis = {
    url,
    port,
    connect,
    freshKeys,
    get store() {
      store ??= connect()
      return store
    },
  }
  beforeAll(async () => void (await redis.store.flushall()))
  afterAll(() => {
    for (const one of opened) one.disconnect()
  })
  return redis
}

/** A server for this file alone: it may be set up otherwise, ended and started again. */
export function serverOfFile(...start: Parameters<typeof startRedis>): FileRedis & RedisProcess {
  let redis: RedisServer | undefined
  let store: Store | undefined
  const running = () => {
    if (redis === undefined) throw new Error('only within a test')
    return redis
  }
  beforeAll(async () => {
    redis = await startRedis(...start)
  })
  afterAll(() => redis?.stop())
  return {
    freshKeys,
    connect: (purpose) => running().connect(purpose),
    end: (signal) => running().end(signal),
    again: (extra) => running().again(extra),
    get url() {
      return running().url
    },
    get port() {
      return running().port
    },
    get store() {
      store ??= running().connect()
      return store
    },
  }
}

/** A folder for the tests of a file. */
export function folderOfFile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-file-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
