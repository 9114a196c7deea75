import { expect, test } from 'vitest'
import { type AlertWrites, endpointText, NO_ALERT_WRITES, type SharedText, stepJson } from '../../src/redis/steps.ts'
import { outboxOf } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

/** Null: changed; else what was found. */
function endpoint() {
  const keys = redis.freshKeys()
  const change = (before: string, after: string, alerts: AlertWrites = NO_ALERT_WRITES) =>
    redis.store.changeEndpoint(keys.own(0), keys.endpoint, before, after, stepJson(alerts))
  return { keys, change, alerts: keys.account(0).alerts }
}

test('the state is changed only as it was read, and the alerts with it or not at all', async () => {
  const { keys, change } = endpoint()
  expect(await change('', 'one')).toBeNull()
  const alerts = { changes: [['clock', '', '{}'] as [string, string, string]], entries: ['{"alert":{"id":"a"}}'] }
  for (const wrong of ['', 'two', 'ONE']) expect(await change(wrong, 'three', alerts)).toBe('one')
  expect(await redis.store.get(keys.endpoint)).toBe('one')
  expect(await outboxOf(redis.store, keys, 0)).toEqual([])

  expect(await change('one', 'two', alerts)).toBeNull()
  expect(await outboxOf(redis.store, keys, 0)).toEqual([{ id: 'a' }])
  expect(await redis.store.smembers(keys.partition(0).alerting)).toEqual(['0'])
  expect(await change('two', 'three', { changes: [['clock', '{}', '']], entries: [] })).toBeNull()
  expect(await redis.store.smembers(keys.partition(0).alerting)).toEqual([])

  await redis.store.del(keys.endpoint)
  expect(await change('three', 'four')).toBe('')
})

test('an alert that was acknowledged since it was read is decided on anew', async () => {
  const { keys, change, alerts } = endpoint()
  await redis.store.hset(alerts, 'clock', 'acknowledged')
  await change('', 'one')
  const closing = (stored: string): AlertWrites => ({
    changes: [['clock', stored, '']],
    entries: ['{"alert":{"id":"a"}}'],
  })
  expect(await change('one', 'two', closing('firing'))).toBe('one')
  expect(await redis.store.hgetall(alerts)).toEqual({ clock: 'acknowledged' })
  expect(await outboxOf(redis.store, keys, 0)).toEqual([])
  expect(await change('one', 'two', closing('acknowledged'))).toBeNull()
  expect(await redis.store.hgetall(alerts)).toEqual({})
})

test('of many changes at once one wins', async () => {
  const { change } = endpoint()
  const found = await Promise.all(Array.from({ length: 20 }, (_, n) => change('', `state-${n}`)))
  expect(found.filter((other) => other === null)).toHaveLength(1)
})

test('a text is decided on anew until no other daemon was faster', async () => {
  const keys = redis.freshKeys()
  const daemons = Array.from({ length: 20 }, () => endpointText(redis.store, keys))
  const add = (text: SharedText) => text.change((stored) => ({ after: `${stored}x`, result: stored.length }))
  const lengths = await Promise.all(daemons.map(add))
  expect(lengths.sort((a, b) => a - b)).toEqual(daemons.map((_, n) => n))
  expect(await redis.store.get(keys.endpoint)).toHaveLength(20)
})
