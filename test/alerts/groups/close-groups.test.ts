import { describe, expect, test } from 'vitest'
import { redisOfFile } from '../../support/of-file.ts'
import { anAlert } from '../an-alert.ts'
import { aRelay, DAY, INTERVAL, NOW, WAIT } from '../outbox/a-relay.ts'

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
    await one.commit({ alert: anAlert() })
    await one.collect(NOW)
    await one.close(NOW + WAIT)
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
