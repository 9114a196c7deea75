import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { startRedis, type TestRedis } from './redis-server.ts'

/** One real Redis for the tests of a file; each test asks for keys of its own. */
export function useRedis(): { readonly store: Store; freshKeys(): Keys } {
  let redis: TestRedis | undefined
  let store: Store | undefined
  beforeAll(async () => {
    redis = await startRedis()
    store = redis.store()
  })
  afterAll(() => redis?.stop())
  return {
    get store() {
      if (store === undefined) throw new Error('only within a test')
      return store
    },
    freshKeys: () => createKeys(`test-${randomBytes(6).toString('hex')}`),
  }
}
