import { expect, test } from 'vitest'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, DAY, INTERVAL, NOW, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
const relay = (more: Parameters<typeof aRelay>[2] = {}) => aRelay(redis.store, redis.freshKeys(), more)

test('what cannot be read of one receiver is said to be so, and keeps nothing from another', async () => {
  const one = relay({ routes: [{ to: ['mail', 'hook'] }] })
  await one.commit({ alert: anAlert() })
  await redis.store.set(one.keys.delivery.known('mail'), 'no hash')
  await expect(one.look(NOW)).rejects.toThrow('WRONGTYPE')
  await expect(one.look(NOW + WAIT)).rejects.toThrow('WRONGTYPE')
  expect((await one.pending()).map(({ receiver }) => receiver)).toEqual(['hook'])
  await redis.store.del(one.keys.delivery.known('mail'))
  await one.look(NOW + WAIT)
  await one.look(NOW + 2 * WAIT)
  expect((await one.pending()).map(({ receiver }) => receiver).sort()).toEqual(['hook', 'mail'])
})

test('and no matter how many it keeps unsent', async () => {
  const one = relay({ routes: [{ match: { rule: ['x'] }, to: ['hook'] }, { to: ['mail'] }] })
  for (let n = 0; n < 10; n++) await one.commit(...Array.from({ length: 1_000 }, () => ({ alert: anAlert() })))
  await redis.store.set(one.keys.delivery.known('mail'), 'no hash')
  await one.commit({ alert: anAlert({ id: 'zz-1', rule: 'x' }) })
  do await Promise.allSettled([one.look(NOW)])
  while ((await redis.store.hexists(one.keys.delivery.known('hook'), 'zz')) === 0)
  expect(await redis.store.zcard(one.keys.unsent)).toBe(10_000)
})

test('the log names some of very many alerts, and counts the others', async () => {
  const one = relay()
  await one.commit(...Array.from({ length: 150 }, () => ({ alert: anAlert() })))
  await one.look(NOW)
  const lines = one.lines.lines().filter(({ code }) => code === 'alert.firing')
  expect(lines).toHaveLength(101)
  expect(lines.at(-1)).toMatchObject({ count: 50 })
})

test('a mass event hurries once; what follows waits for the interval', async () => {
  const one = relay()
  const more = (count: number, from: number) =>
    Array.from({ length: count }, (_, n) => ({
      alert: anAlert({ level: 'critical', account: { hubId: 64 * (from + n), hubDomain: '' } }),
    }))
  await one.pass(NOW, ...more(20, 1))
  await one.commit(...more(20, 100))
  await one.look(NOW + WAIT)
  await one.look(NOW + 2 * WAIT)
  expect(await one.closesAt()).toBe(NOW + WAIT + INTERVAL)
  await one.look(NOW + WAIT + INTERVAL)
  expect(await one.pending()).toHaveLength(2)
})

test('of an alert that is over it is known for three days that it is, and nothing else is kept', async () => {
  const one = relay()
  const passOf = async (id: string, now: number) => {
    await one.pass(now, { alert: anAlert({ id: `${id}-1` }) })
    await one.pass(now + INTERVAL, { alert: anAlert({ id: `${id}-2`, status: 'resolved', reason: 'recovered' }) })
    await one.look(now + 2 * INTERVAL)
    await one.look(now + 3 * INTERVAL)
  }
  const { known, waiting } = one.keys.delivery
  const kept = async () => [
    ...(await redis.store.hkeys(known('mail'))).sort(),
    ...(await redis.store.zrange(waiting, '0', '-1')),
  ]
  await passOf('a', NOW)
  expect(await kept()).toEqual(['a'])
  await passOf('b', NOW + DAY)
  expect(await kept()).toEqual(['a', 'b'])
  await passOf('c', NOW + 3 * DAY + INTERVAL)
  expect(await kept()).toEqual(['b', 'c'])
  expect(await redis.store.hlen(one.keys.news)).toBe(2)
  expect(await redis.store.exists(one.keys.unsent)).toBe(0)
})

test('nothing of what was sent lately is kept for good', async () => {
  const one = relay()
  await one.pass(NOW, { alert: anAlert({ level: 'critical' }) }, { alert: anAlert(), firstReading: true })
  const lately = one.keys.delivery.recent('mail')
  const ttl = await redis.store.pttl(lately)
  expect(ttl).toBeGreaterThan(INTERVAL)
  expect(ttl).toBeLessThanOrEqual(INTERVAL + 60_000)
  const before = await redis.store.zrange(lately, '0', '-1')
  const later = NOW + 2 * (WAIT + INTERVAL)
  await one.pass(later, { alert: anAlert({ rule: 'another' }) })
  const kept = await redis.store.zrange(lately, '0', '-1')
  expect(kept.length).toBeGreaterThan(0)
  expect(before.filter((what) => kept.includes(what))).toEqual([])
})
