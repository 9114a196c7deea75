import { afterAll, describe, expect, test, vi } from 'vitest'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { serverOfFile } from '../support/of-file.ts'

const redis = serverOfFile()

const open: Store[] = []
function connect(purpose: 'steps' | 'pages' | 'queues', url = redis.url): Store {
  const store = connectRedis({ kind: 'url', url: new Secret(url) }, purpose, () => {})
  open.push(store)
  return store
}
afterAll(() => {
  for (const store of open) store.disconnect()
})

describe('a connection', () => {
  test('knows every atomic step, and says who it is', async () => {
    const store = connect('steps')
    expect(await store.moveClaim('nothing', 1, 1, 1)).toBe(0)
    expect(String(await store.client('LIST'))).toContain(`name=plimsoll:${process.pid}:steps`)
  })

  test('for steps waits until Redis is back, and the step is done then', async () => {
    const store = connect('steps')
    await store.set('before', '1')
    await redis.end('SIGKILL')
    const step = store.set('meanwhile', '1')
    await redis.again()
    expect(await step).toBe('OK')
    expect(await store.get('meanwhile')).toBe('1')
  })

  test('for steps lets commands of one moment travel together, but no step that is of many accounts already', async () => {
    const store = connect('steps')
    const pipelines = vi.spyOn(store, 'pipeline')
    const account = '{test}:account:1'
    // Whatever they make of an account that has nothing: it is the way there that counts.
    await Promise.allSettled([store.storeTokens(1, account), store.storeTokens(1, account)])
    expect(pipelines).not.toHaveBeenCalled()
    await Promise.all([store.get('one'), store.get('other')])
    expect(pipelines).toHaveBeenCalledOnce()
  })

  test('for pages gives up soon, and says so', async () => {
    const store = connect('pages', 'redis://127.0.0.1:1')
    await expect(store.get('x')).rejects.toThrow()
  })
})
