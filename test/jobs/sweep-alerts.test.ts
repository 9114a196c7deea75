import { expect, test } from 'vitest'
import { sweepAlerts } from '../../jobs/sweep.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { aRelay, INTERVAL, NOW, WAIT } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

test('a partition that cannot be read, and a receiver, are said to be so, and hold up no delivery', async () => {
  const one = aRelay(redis.store, redis.freshKeys(), { routes: [{ to: ['mail', 'hook'] }] })
  const handedOn: string[] = []
  const sweep = (now: number) => {
    const clock = new HandClock(now)
    return sweepAlerts({
      sending: one.deps,
      deliveries: one.deliveries,
      metrics: createMetrics(),
      clock,
      queues: {
        deliver: {
          addBulk: async (jobs: { data: { deliveryId: string } }[]) =>
            handedOn.push(...jobs.map(({ data }) => data.deliveryId)),
        },
      } as never,
    })
  }
  await one.commit({ alert: anAlert() })
  await sweep(NOW)
  await redis.store.set(one.keys.delivery.known('hook'), 'no hash')
  await expect(sweep(NOW + WAIT)).rejects.toThrow('WRONGTYPE')
  expect(handedOn).toHaveLength(1)
  await one.commit({ alert: anAlert() })
  await one.look(NOW + WAIT).catch(() => undefined)
  await one.look(NOW + WAIT + INTERVAL).catch(() => undefined)
  await redis.store.set(one.keys.unsent, 'no sorted set')
  await expect(sweep(NOW + WAIT + INTERVAL)).rejects.toThrow('WRONGTYPE')
  expect(new Set(handedOn).size).toBe(2)
})
