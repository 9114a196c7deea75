import { expect, test } from 'vitest'
import { BEHIND_MS, CLAIM_MS } from '../../src/delivery/deliveries.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { aRelay, INTERVAL, NOW, WAIT } from '../alerts/outbox/a-relay.ts'
import { useRedis } from '../support/test-store.ts'

/** An alert is told, and soon after that it is over: two deliveries of one group. */
const redis = useRedis()
const OPENED = NOW + WAIT
const ENDED = OPENED + INTERVAL

async function openedAndOver() {
  const one = aRelay(redis.store, redis.freshKeys())
  await one.commit({ alert: anAlert({ id: 'a-1' }) })
  await one.collect(NOW)
  await one.close(OPENED)
  const [firing = ''] = (await one.deliveries.claim(OPENED, 10)).ids
  const end = async () => {
    await one.commit({ alert: anAlert({ id: 'a-2', status: 'resolved', reason: 'recovered' }) })
    await one.collect(NOW)
    await one.close(ENDED)
    return (await one.deliveries.claim(ENDED, 10)).ids.find((id) => id !== firing) ?? ''
  }
  return { one, firing, end }
}

test('that an alert is over waits for the word that it fires, which a daemon took with it when it died', async () => {
  const { one, firing, end } = await openedAndOver()
  await one.deliveries.begin(firing, ENDED - 1)
  const over = await end()
  expect(await one.deliveries.begin(over, ENDED)).toBe('behind')
  expect(await redis.store.zscore(one.keys.delivery.deliveriesDue, over)).toBe(String(ENDED + BEHIND_MS))
  const again = await one.deliveries.begin(firing, ENDED - 1 + CLAIM_MS)
  expect(again).toMatchObject({ id: firing })
  if (again === undefined || typeof again === 'string') return
  await one.deliveries.record(again, { outcome: 'delivered', nextAt: null, reason: '' }, ENDED + CLAIM_MS)
  expect(await one.deliveries.begin(over, ENDED + CLAIM_MS)).toMatchObject({ id: over })
})

test('a delivery does not wait for one that was tried and failed', async () => {
  const { one, firing, end } = await openedAndOver()
  const begun = await one.deliveries.begin(firing, OPENED)
  if (begun === undefined || typeof begun === 'string') throw new Error('nothing to send')
  await one.deliveries.record(begun, { outcome: 'retry', nextAt: ENDED + 1, reason: 'so' }, OPENED)
  const over = await end()
  expect(await one.deliveries.begin(over, ENDED)).toMatchObject({ id: over })
})

test('a delivery waits for another one for two claims at most', async () => {
  const { one, end } = await openedAndOver()
  const over = await end()
  expect(await one.deliveries.begin(over, ENDED + 2 * CLAIM_MS - 1)).toBe('behind')
  expect(await one.deliveries.begin(over, ENDED + 2 * CLAIM_MS)).toMatchObject({ id: over })
})
