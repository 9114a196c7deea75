import { expect, test } from 'vitest'
import { BEHIND_MS, CLAIM_MS } from '../../src/delivery/deliveries.ts'
import { aRelay, INTERVAL, NOW, WAIT } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const OPENED = NOW + WAIT
const ENDED = OPENED + INTERVAL

/** An alert is told, and soon after that it is over: two deliveries of one group. */
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

/** The firing of account 1 and its end, one of them among those of a mass, neither sent yet. */
async function openedAndOverAround(mass: 'firing' | 'resolved') {
  const one = aRelay(redis.store, redis.freshKeys(), { group: { by: ['account'] } })
  const five = [1, 2, 3, 4, 5]
  const of = (hubId: number, more = {}) => ({
    alert: anAlert({ id: `${hubId}-1`, account: { hubId, hubDomain: '' }, ...more }),
  })
  const end = (hubId: number) => of(hubId, { id: `${hubId}-2`, status: 'resolved', reason: 'recovered' })
  const isMass = mass === 'firing'
  // One by one, so far apart that they are no mass, or together.
  for (const [n, some] of (isMass ? [five] : five.map((hubId) => [hubId])).entries()) {
    await one.commit(...some.map((hubId) => of(hubId)))
    await one.collect(OPENED + 2 * n * INTERVAL)
    await one.close(OPENED + 2 * n * INTERVAL + WAIT)
  }
  const later = OPENED + 20 * INTERVAL
  await one.commit(...(isMass ? [end(1)] : five.map(end)))
  await one.collect(later)
  await one.close(later + WAIT)
  const keys = (type: string) =>
    one
      .pending()
      .then((all) =>
        all
          .filter(({ message }) => message.type === type)
          .map(({ id, message }) => ({ id, key: message.data.groupKey })),
      )
  return { one, later: later + WAIT, firing: await keys('alert.firing'), over: await keys('alert.resolved') }
}

test.each(['firing', 'resolved'] as const)(
  'that an alert is over waits for the word that it fires in another group: a mass is %s',
  async (mass) => {
    const { one, later, firing, over } = await openedAndOverAround(mass)
    expect(over).toHaveLength(1)
    expect(firing).toHaveLength(mass === 'firing' ? 1 : 5)
    const end = over[0]?.id ?? ''
    for (const { id } of firing) {
      expect(await one.deliveries.begin(end, later)).toBe('behind')
      const begun = await one.deliveries.begin(id, later)
      if (begun === undefined || typeof begun === 'string') throw new Error('nothing to send')
      await one.deliveries.record(begun, { outcome: 'delivered', nextAt: null, reason: '' }, later)
    }
    expect(await one.deliveries.begin(end, later)).toMatchObject({ id: end })
  },
)
