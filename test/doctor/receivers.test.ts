import { expect, test } from 'vitest'
import { checkReceivers } from '../../src/doctor/receivers.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

test('a receiver that fails is a warning at once, long before it is an alert', async () => {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  const found = () => checkReceivers({ store: Promise.resolve(redis.store) } as never, keys, 'never', clock)
  expect(await found()).toMatchObject([{ level: 'ok', detail: 'nothing was sent so far' }])
  await redis.store.zadd(keys.delivery.receivers, clock.now(), 'ops')
  await redis.store.hset(keys.delivery.receiver('ops'), 'seenAt', clock.now())
  expect(await found()).toMatchObject([{ level: 'ok', detail: 'no receiver is known to fail' }])
  await redis.store.hset(keys.delivery.receiver('ops'), {
    ...{ failingSince: clock.now() - 60_000, failures: 3, lastReason: 'the service answered 500' },
  })
  expect(await found()).toMatchObject([
    { level: 'warn', detail: expect.stringMatching(/^The receiver ops fails\. .* 3 attempts .* answered 500/) },
  ])
})
