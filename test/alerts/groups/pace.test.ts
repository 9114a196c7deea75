import { expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { paceOf } from '../../../src/alerts/groups/told.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { anAlert } from '../an-alert.ts'
import { aRelay, INTERVAL, NOW, WAIT } from '../outbox/a-relay.ts'

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

const redis = redisOfFile()

test('a series that flaps at critical hurries once within an interval, each time under another id', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  let messages = 0
  for (let n = 0; n < 20; n++) {
    const now = NOW + n * 60_000
    await one.commit({ alert: anAlert({ level: 'critical' }) })
    await one.collect(now)
    await one.close(now + WAIT)
  }
  messages = (await one.pending()).length
  expect(messages).toBeLessThanOrEqual(1 + Math.ceil((20 * 60_000) / INTERVAL))
  expect(messages).toBeGreaterThanOrEqual(4)
})

test('a mass event hurries once; what follows waits for the interval', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  const more = (count: number, from: number) =>
    Array.from({ length: count }, (_, n) => ({
      alert: anAlert({ level: 'critical', account: { hubId: 64 * (from + n), hubDomain: '' } }),
    }))
  await one.commit(...more(20, 1))
  await one.collect(NOW)
  await one.close(NOW + WAIT)
  await one.commit(...more(20, 100))
  await one.collect(NOW + WAIT)
  expect(await one.close(NOW + 2 * WAIT)).toBe(NOW + WAIT + INTERVAL)
  await one.close(NOW + WAIT + INTERVAL)
  expect(await one.pending()).toHaveLength(2)
})

test('a clock that was set back does not keep a group from closing', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  const ahead = NOW + 365 * 86_400_000
  await one.commit({ alert: anAlert() })
  await one.collect(ahead)
  await one.close(ahead + WAIT)
  await one.commit({ alert: anAlert() })
  await one.collect(NOW)
  expect(await one.close(NOW)).toBe(NOW + WAIT + INTERVAL)
  await one.close(NOW + WAIT + INTERVAL)
  expect(await one.pending()).toHaveLength(2)
})
