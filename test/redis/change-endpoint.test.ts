import { expect, test } from 'vitest'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { EndpointStore } from '../../src/tokens/endpoint/endpoint-store.ts'
import { outboxOf } from '../support/accounts.ts'
import { useRedis } from '../support/test-store.ts'

const redis = useRedis()

test('the state is changed only as it was read, and the alerts with it or not at all', async () => {
  const keys = redis.freshKeys()
  const store = new EndpointStore(redis.store, keys)
  expect(await store.read()).toBe('')
  expect(await store.change('', 'one', NO_ALERT_WRITES)).toBeUndefined()
  const alerts = { changes: [['clock', '', '{}'] as [string, string, string]], entries: ['{"alert":{"id":"a"}}'] }
  for (const wrong of ['', 'two', 'ONE']) expect(await store.change(wrong, 'three', alerts)).toBe('one')
  expect(await store.read()).toBe('one')
  expect(await outboxOf(redis.store, keys, 0)).toEqual([])

  expect(await store.change('one', 'two', alerts)).toBeUndefined()
  expect(await outboxOf(redis.store, keys, 0)).toEqual([{ id: 'a' }])
  expect(await redis.store.smembers(keys.partition(0).alerting)).toEqual(['0'])
  expect(await store.change('two', 'three', { changes: [['clock', '{}', '']], entries: [] })).toBeUndefined()
  expect(await redis.store.smembers(keys.partition(0).alerting)).toEqual([])

  await redis.store.del(keys.endpoint)
  expect(await store.change('three', 'four', NO_ALERT_WRITES)).toBe('')
})

test('of many changes at once one wins', async () => {
  const keys = redis.freshKeys()
  const store = new EndpointStore(redis.store, keys)
  const found = await Promise.all(Array.from({ length: 20 }, (_, n) => store.change('', `state-${n}`, NO_ALERT_WRITES)))
  expect(found.filter((other) => other === undefined)).toHaveLength(1)
})
