import { expect, test } from 'vitest'
import { sweepAlerts } from '../../jobs/sweep.ts'
import type { Receiver } from '../../src/delivery/receiver.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { aRelay, INTERVAL, NOW, WAIT } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

test('a partition that cannot be read, and a receiver, are said to be so, and hold up no delivery', async () => {
  const one = aRelay(redis.store, redis.freshKeys(), { routes: [{ to: ['mail', 'hook'] }] })
  const looks: string[] = []
  const sweep = (now: number) => {
    const clock = new HandClock(now)
    return sweepAlerts({
      sending: one.deps,
      deliveries: one.deliveries,
      metrics: createMetrics(),
      clock,
      receivers: new Map([['mail', {} as Receiver]]),
      queues: { look: async (queue: string) => looks.push(queue) } as never,
    })
  }
  await one.commit({ alert: anAlert() })
  await sweep(NOW)
  await redis.store.set(one.keys.delivery.known('hook'), 'no hash')
  await expect(sweep(NOW + WAIT)).rejects.toThrow('WRONGTYPE')
  expect(looks).toEqual(['deliver'])
  await one.commit({ alert: anAlert() })
  await one.look(NOW + WAIT).catch(() => undefined)
  await one.look(NOW + WAIT + INTERVAL).catch(() => undefined)
  await redis.store.set(one.keys.unsent, 'no sorted set')
  await expect(sweep(NOW + WAIT + INTERVAL)).rejects.toThrow('WRONGTYPE')
  expect(looks).toEqual(['deliver', 'deliver'])
})
