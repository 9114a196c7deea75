import { describe, expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { paceOf } from '../../../src/alerts/groups/sent-lately.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, DAY, INTERVAL, NOW, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
const relay = (more: Parameters<typeof aRelay>[2] = {}) => aRelay(redis.store, redis.freshKeys(), more)

describe('a clock that was ahead and is set back', () => {
  test('keeps no group from closing within its wait', async () => {
    const one = relay()
    await one.commit({ alert: anAlert() })
    await one.collect(NOW + DAY)
    expect(await one.close(NOW)).toBe(NOW + WAIT)
    await one.close(NOW + WAIT)
    expect(await one.told()).toHaveLength(1)
  })

  test('keeps no digest of first readings from being told', async () => {
    const one = relay()
    await redis.store.set(one.keys.delivery.connectedAt, NOW + DAY)
    await one.commit({ alert: anAlert(), firstReading: true })
    await one.collect(NOW + DAY)
    await one.close(NOW)
    await one.close(NOW + WAIT)
    expect(await one.told()).toHaveLength(1)
  })

  test('leaves a group alone that waits for its interval to be over', async () => {
    const one = relay()
    await one.pass(NOW, { alert: anAlert() })
    await one.commit({ alert: anAlert({ reason: 'repeat' }) })
    await one.collect(NOW + WAIT)
    expect(await one.close(NOW + WAIT)).toBe(NOW + WAIT + INTERVAL)
  })
})

test('a group that cannot be read is said to be so, and keeps no other from closing', async () => {
  const one = relay({ group: { by: ['account'] } })
  for (const hubId of [1, 2, 3]) await one.commit({ alert: anAlert({ account: { hubId, hubDomain: '' } }) })
  await one.collect(NOW)
  await redis.store.hset(one.keys.delivery.group('mail|account=1'), 'broken', '{')
  await expect(one.close(NOW + WAIT)).rejects.toThrow(SyntaxError)
  expect(await one.told()).toHaveLength(2)
})

test('of very many groups some close at a look, and the rest is due at once', async () => {
  const one = relay({ group: { by: ['account'] } })
  const count = 600
  for (let n = 1; n <= count; n++) {
    await one.commit({ alert: anAlert({ rule: `rule ${n}`, account: { hubId: n, hubDomain: '' } }) })
  }
  await one.collect(NOW)
  expect(await one.close(NOW + WAIT)).toBe(NOW + WAIT)
  expect(await one.told()).toHaveLength(500)
  expect(await one.close(NOW + WAIT)).toBeUndefined()
  expect(await one.told()).toHaveLength(count)
})

const QUIET = { sameLevel: false, hurried: 0 }

test.each([
  ['entered at critical', { level: 'critical' }, QUIET, 'urgent'],
  ['escalated', { level: 'critical', reason: 'escalated' }, QUIET, 'urgent'],
  ['entered at warning', {}, QUIET, 'normal'],
  ['repeated', { level: 'critical', reason: 'repeat' }, QUIET, 'normal'],
  ['resolved', { level: 'critical', reason: 'recovered', status: 'resolved' }, QUIET, 'normal'],
  ['flapping', { level: 'critical' }, { sameLevel: true, hurried: 1 }, 'normal'],
  ['one of a few', { level: 'critical' }, { sameLevel: false, hurried: 19 }, 'urgent'],
  ['after a mass event', { level: 'critical' }, { sameLevel: false, hurried: 20 }, 'normal'],
  ['escalated after one', { level: 'critical', reason: 'escalated' }, { sameLevel: false, hurried: 20 }, 'urgent'],
] satisfies [string, Partial<Alert>, typeof QUIET, string][])('an alert that is %s', (_, alert, lately, pace) => {
  expect(paceOf(anAlert(alert), false, lately)).toBe(pace)
  expect(paceOf(anAlert(alert), true, lately)).toBe('digest')
})

test('a series that flaps at critical hurries once within an interval, each time under another id', async () => {
  const one = relay()
  let messages = 0
  for (let n = 0; n < 20; n++) {
    const now = NOW + n * 60_000
    await one.pass(now, { alert: anAlert({ level: 'critical' }) })
  }
  messages = (await one.pending()).length
  expect(messages).toBeLessThanOrEqual(1 + Math.ceil((20 * 60_000) / INTERVAL))
  expect(messages).toBeGreaterThanOrEqual(4)
})

test('a mass event hurries once; what follows waits for the interval', async () => {
  const one = relay()
  const more = (count: number, from: number) =>
    Array.from({ length: count }, (_, n) => ({
      alert: anAlert({ level: 'critical', account: { hubId: 64 * (from + n), hubDomain: '' } }),
    }))
  await one.pass(NOW, ...more(20, 1))
  await one.commit(...more(20, 100))
  await one.collect(NOW + WAIT)
  expect(await one.close(NOW + 2 * WAIT)).toBe(NOW + WAIT + INTERVAL)
  await one.close(NOW + WAIT + INTERVAL)
  expect(await one.pending()).toHaveLength(2)
})

test('a clock that was set back does not keep a group from closing', async () => {
  const one = relay()
  const ahead = NOW + 365 * 86_400_000
  await one.pass(ahead, { alert: anAlert() })
  await one.commit({ alert: anAlert() })
  await one.collect(NOW)
  expect(await one.close(NOW)).toBe(NOW + WAIT + INTERVAL)
  await one.close(NOW + WAIT + INTERVAL)
  expect(await one.pending()).toHaveLength(2)
})

test('of an alert that is over it is known for a day that it is, and nothing else is kept', async () => {
  const one = relay()
  const passOf = async (id: string, now: number) => {
    await one.pass(now, { alert: anAlert({ id: `${id}-1` }) })
    await one.pass(now + INTERVAL, { alert: anAlert({ id: `${id}-2`, status: 'resolved', reason: 'recovered' }) })
  }
  const { told, lastSent, over } = one.keys.delivery
  const kept = async () => [
    ...(await redis.store.zrange(told, '0', '-1')),
    ...(await redis.store.hkeys(lastSent)),
    ...(await redis.store.zrange(over, '0', '-1')),
  ]
  await passOf('a', NOW)
  expect(await kept()).toEqual(['mail|a'])
  await passOf('b', NOW + DAY)
  expect(await kept()).toEqual(['mail|a', 'mail|b'])
  await passOf('c', NOW + 2 * DAY)
  expect(await kept()).toEqual(['mail|b', 'mail|c'])
})
