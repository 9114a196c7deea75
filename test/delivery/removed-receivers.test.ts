import { expect, test } from 'vitest'
import { endLostAlerts } from '../../src/alerts/sending/end-lost-alerts.ts'
import { ReceiverStore } from '../../src/delivery/receiver-health.ts'
import { dropRemovedReceivers } from '../../src/delivery/removed-receivers.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { aRelay, DAY, INTERVAL, NOW, WAIT } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const MINUTE = 60_000

/** `old` has an alert that it got, one that was given up, one on its way, and one that is held back; `alive` has the same. */
async function twoReceivers() {
  const one = aRelay(redis.store, redis.freshKeys(), {
    routes: [{ to: ['old', 'alive'] }],
    receivers: ['old', 'alive'],
    group: { by: ['account', 'rule'] },
  })
  const receiverStore = new ReceiverStore(redis.store, one.keys)
  await receiverStore.see(['old', 'alive'], NOW)
  for (const [name, outcome] of [
    ['got', 'delivered'],
    ['dead', 'dead'],
    ['pending', 'retry'],
  ] as const) {
    await one.pass(NOW, { alert: anAlert({ id: `${name}-1`, rule: name }) })
    for (const delivery of await one.pending()) {
      if (delivery.message.data.alerts[0]?.id !== `${name}-1`) continue
      await one.deliveries.record(delivery, { outcome, nextAt: NOW, reason: 'so', ms: 1 }, NOW)
    }
  }
  one.silence(NOW + 90 * DAY)
  await one.pass(NOW, { alert: anAlert({ id: 'held-1', rule: 'held' }) })
  await redis.store.hset(one.keys.delivery.disabled, 'old', 'answered 410')
  await redis.store.zadd(one.keys.digests.sent, NOW, 'old')
  one.deps.receivers = ['alive']
  one.deps.routes = [{ to: ['alive'] }]
  const drop = (now: number) => dropRemovedReceivers(one.deps, now)
  const left = () => keysNaming('old', one.keys)
  return { one, receiverStore, drop, left }
}

/** All keys whose name or content names the receiver, but for what ends by itself: logs, and what arrived. */
async function keysNaming(receiver: string, keys: Keys): Promise<string[]> {
  const { store } = redis
  const names = new RegExp(`(^|[^a-z])${receiver}([^a-z]|$)`)
  const delivered = (await store.zrange(keys.delivery.delivered, 0, '-1')).map(keys.delivery.delivery)
  // What was sent of an alert is named beside it until it is over.
  const passing = [...delivered, keys.news]
  const lasting = (await store.keys(`${keys.queues}:*`)).filter((key) => !passing.includes(key))
  const contents: Record<string, (key: string) => Promise<unknown>> = {
    hash: (key) => store.hgetall(key),
    zset: (key) => store.zrange(key, 0, '-1'),
    string: (key) => store.get(key),
  }
  const found = lasting.map(async (key) => {
    const content = await contents[await store.type(key)]?.(key)
    const isNamed = names.test(key) || names.test(JSON.stringify(content ?? ''))
    return isNamed && (await store.pttl(key)) < 0 ? [key] : []
  })
  return (await Promise.all(found)).flat().sort()
}

test('of a receiver that no daemon has had for three days nothing is left, and nobody waits for it', async () => {
  const { one, receiverStore, drop, left } = await twoReceivers()
  const before = await left()
  expect(before).toEqual(expect.arrayContaining([one.keys.digests.sent, one.keys.delivery.lines('old')]))
  const later = NOW + 3 * DAY
  expect(await drop(later - 1)).toEqual([])
  expect(await left()).toEqual(before)
  await receiverStore.see(['alive'], later)
  expect(await drop(later)).toEqual(['old'])
  expect(await left()).toEqual([])
  await one.expectBalance({ waiting: 1, deliveries: 1, dead: 1 })
  expect(await redis.store.hkeys(one.keys.delivery.known('alive'))).toHaveLength(4)
})

test('a receiver that this daemon has is not dropped, however long it was not reported', async () => {
  const { one, drop } = await twoReceivers()
  one.deps.receivers = ['old', 'alive']
  expect(await drop(NOW + 90 * DAY)).toEqual([])
  expect(await drop(NOW + 91 * DAY)).toEqual([])
})

test('an end that a receiver lacks because it left the config keeps no proof from being green, and is sent once it is back', async () => {
  const { one, receiverStore } = await twoReceivers()
  await one.look(NOW + WAIT + INTERVAL)
  await receiverStore.see(['alive'], NOW + WAIT + 11 * MINUTE)
  await one.pass(NOW + 11 * MINUTE, {
    alert: anAlert({ id: 'got-2', rule: 'got', status: 'resolved', reason: 'recovered' }),
  })
  await one.look(NOW + 13 * MINUTE)
  expect(await one.verify()).toMatchObject({ balanced: true, unresolved: [] })
  expect((await one.pending()).filter(({ message }) => message.type === 'alert.resolved')).toMatchObject([
    { receiver: 'alive' },
  ])
  await receiverStore.see(['old', 'alive'], NOW + 14 * MINUTE)
  one.deps.receivers = ['old', 'alive']
  // The others have no state of an account that says that they are open.
  expect(await endLostAlerts(one.deps, NOW + 14 * MINUTE)).toBeGreaterThan(0)
  for (const minutes of [14, 20]) await one.look(NOW + minutes * MINUTE)
  const ends = (await one.pending()).filter(({ message }) => message.data.alerts.some(({ id }) => id === 'got-2'))
  expect(ends.map(({ receiver }) => receiver).sort()).toEqual(['alive', 'old'])
  expect(await one.verify()).toMatchObject({ balanced: true, unresolved: [] })
})
