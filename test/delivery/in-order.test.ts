import { expect, test } from 'vitest'
import { type Alert, alertOf } from '../../src/alerts/alert.ts'
import { type AttemptRecord, BEHIND_MS, CLAIM_MS } from '../../src/delivery/deliveries.ts'
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
  await one.look(NOW)
  await one.look(OPENED)
  const [firing = ''] = (await one.deliveries.claim(OPENED, 10)).ids
  const end = async (id = 'a-2', at = ENDED) => {
    const before = await redis.store.zrange(one.keys.delivery.deliveriesDue, '0', '-1')
    await one.commit({ alert: anAlert({ id, status: 'resolved', reason: 'recovered' }) })
    await one.look(NOW)
    await one.look(at)
    return (await one.deliveries.claim(at, 10)).ids.find((id) => !before.includes(id)) ?? ''
  }
  return { one, firing, end }
}

test('that an alert is over waits for the word that it fires, which a daemon took with it when it died', async () => {
  const { one, firing, end } = await openedAndOver()
  await one.deliveries.begin(firing, ENDED - 1)
  const over = await end()
  expect(await one.deliveries.begin(over, ENDED)).toBe(ENDED + BEHIND_MS)
  expect(await redis.store.zscore(one.keys.delivery.deliveriesDue, over)).toBe(String(ENDED + BEHIND_MS))
  const again = await one.deliveries.begin(firing, ENDED - 1 + CLAIM_MS)
  expect(again).toMatchObject({ id: firing })
  if (typeof again !== 'object') return
  await one.deliveries.record(again, { outcome: 'delivered', nextAt: null, reason: '' }, ENDED + CLAIM_MS)
  expect(await one.deliveries.begin(over, ENDED + CLAIM_MS)).toMatchObject({ id: over })
})

/** Takes a delivery and records what came of it. */
async function attempt(
  { deliveries }: ReturnType<typeof aRelay>,
  id: string,
  outcome: AttemptRecord['outcome'],
  now: number,
) {
  const begun = await deliveries.begin(id, now)
  if (typeof begun !== 'object') return
  await deliveries.record(begun, { outcome, nextAt: outcome === 'retry' ? now + 1 : null, reason: 'so' }, now)
  return begun.message.data.alerts.map(({ id: alert, supersedes }) => [alert, supersedes ?? []])
}

test.each(['retry', 'dead'] as const)(
  'a delivery does not wait for one whose attempt came to %s: it takes over what that carries, which is never sent any more',
  async (outcome) => {
    const { one, firing, end } = await openedAndOver()
    await attempt(one, firing, outcome, OPENED)
    const over = await end()
    await one.expectBalance({ deliveries: outcome === 'dead' ? 1 : 2, dead: outcome === 'dead' ? 1 : 0 })
    // An attempt that fails may have arrived.
    expect(await attempt(one, over, 'retry', ENDED)).toEqual([['a-2', ['a-1']]])
    expect(await one.deliveries.replay({ since: 0, receiver: undefined }, ENDED)).toBe(0)
    expect(await one.deliveries.begin(firing, ENDED)).toBeUndefined()
    expect(await one.deliveries.countDead()).toBe(0)
    await one.expectBalance({ deliveries: 1, dead: 0 })
    expect(await attempt(one, over, 'delivered', ENDED + 1)).toEqual([['a-2', ['a-1']]])
    await one.expectBalance({ pending: 0 })
    expect((await one.deliveries.log(10)).map(({ id, outcome: is }) => [id, is])).toEqual([
      [over, 'delivered'],
      [over, 'retry'],
      [firing, 'overtaken'],
      [firing, outcome],
    ])
  },
)

test('a delivery takes over also what goes before one that goes before it, and that was not tried yet', async () => {
  const { one, firing, end } = await openedAndOver()
  await attempt(one, firing, 'retry', OPENED)
  await one.commit({ alert: anAlert({ id: 'a-2', level: 'critical', reason: 'escalated' }) })
  await one.look(OPENED)
  await one.look(OPENED + WAIT)
  const over = await end('a-3', ENDED + WAIT)
  const late = ENDED + WAIT + 2 * CLAIM_MS
  expect(await attempt(one, over, 'delivered', late)).toEqual([['a-3', ['a-1', 'a-2']]])
  expect(await one.deliveries.begin(firing, late)).toBeUndefined()
  await one.expectBalance({ pending: 0 })
})

test('of a message with several alerts only those are dropped that a newer message overtook', async () => {
  const one = aRelay(redis.store, redis.freshKeys(), { group: { max: 2 } })
  const alert = (name: string, more = {}) => ({ alert: anAlert({ id: `${name}-1`, ...more }) })
  await one.commit(alert('a'), alert('b'), alert('c'))
  await one.look(NOW)
  await one.look(OPENED)
  const [firing = ''] = (await one.deliveries.claim(OPENED, 10)).ids
  const shown = await attempt(one, firing, 'retry', OPENED)
  expect(shown).toHaveLength(2)
  const [gone = ''] = String(shown?.[0]?.[0]).split('-')
  await one.commit({ alert: anAlert({ id: `${gone}-2`, status: 'resolved', reason: 'recovered' }) })
  await one.look(NOW)
  await one.look(ENDED)
  const over = (await one.deliveries.claim(ENDED, 10)).ids.find((id) => id !== firing) ?? ''
  expect(await attempt(one, over, 'delivered', ENDED)).toEqual([[`${gone}-2`, [`${gone}-1`]]])
  const begun = await one.deliveries.begin(firing, ENDED)
  expect(begun).toMatchObject({ message: { type: 'alert.firing', data: { truncated: 1 } } })
  expect(await attempt(one, firing, 'delivered', ENDED + CLAIM_MS)).toEqual([shown?.[1]])
  await one.expectBalance({ pending: 0 })
})

test('a delivery waits for as long as an earlier one of its alert is under way, and the earlier one for it', async () => {
  const { one, firing, end } = await openedAndOver()
  const over = await end()
  const late = ENDED + 3 * CLAIM_MS
  await one.deliveries.begin(firing, late)
  expect(await one.deliveries.begin(over, late + CLAIM_MS - 1)).toBe(late + CLAIM_MS - 1 + BEHIND_MS)
  expect(await one.deliveries.begin(over, late + CLAIM_MS)).toMatchObject({ id: over })
  expect(await one.deliveries.begin(firing, late + CLAIM_MS)).toBeUndefined()
})

const [a, b] = ['a-1', 'b-1'].map((id) => anAlert({ id })) as [Alert, Alert]
const end = { alert: anAlert({ id: 'a-2', status: 'resolved', reason: 'recovered' }) }

interface Made {
  id: string
  /** When the last one was made, as it was read. */
  at?: number
  now: number
  alerts?: Alert[]
}

function makeDigest({ keys }: ReturnType<typeof aRelay>, { id, at, now, alerts = [a, b] }: Made) {
  const data = { groupKey: 'digest/day', truncated: 0, alerts, period: 'day' as const }
  const message = { type: 'alert.digest' as const, timestamp: new Date(now).toISOString(), data }
  const shows = alerts.map(alertOf).join(' ')
  const step = ['mail', at ?? '', now, id, JSON.stringify(message), shows]
  return redis.store.sendDigest(keys.delivery.deliveriesDue, ...step)
}

test('a digest that comes late does not show what is over, and not at all once there is a newer one', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  await one.pass(NOW, { alert: a }, { alert: b })
  await one.record('delivered', OPENED)
  expect(await makeDigest(one, { id: 'msg_1', now: OPENED })).toBe('sent')
  await attempt(one, 'msg_1', 'retry', OPENED)
  await one.pass(NOW + INTERVAL, end)
  const over = (await one.pending()).find(({ message }) => message.type === 'alert.resolved')?.id ?? ''
  expect(await attempt(one, over, 'delivered', ENDED)).toEqual([['a-2', []]])
  expect(await one.deliveries.begin('msg_1', ENDED)).toMatchObject({
    message: { data: { truncated: 1, alerts: [{ id: 'b-1' }] } },
  })
  expect(await makeDigest(one, { id: 'msg_2', at: OPENED, now: ENDED, alerts: [b] })).toBe('sent')
  expect(await one.deliveries.begin('msg_2', ENDED)).toBe(ENDED + BEHIND_MS)
  expect(await attempt(one, 'msg_2', 'delivered', ENDED + CLAIM_MS)).toHaveLength(1)
  expect(await one.deliveries.begin('msg_1', ENDED + CLAIM_MS)).toBeUndefined()
})

test('a digest comes though all that it shows is over by then: it has totals too', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  await one.pass(NOW, { alert: a })
  await one.record('delivered', OPENED)
  await makeDigest(one, { id: 'msg_1', now: OPENED, alerts: [a] })
  await one.pass(NOW + INTERVAL, end)
  const over = (await one.pending()).find(({ id }) => id !== 'msg_1')?.id ?? ''
  expect(await attempt(one, over, 'delivered', ENDED)).toEqual([['a-2', []]])
  expect(await one.deliveries.begin('msg_1', ENDED)).toMatchObject({ message: { data: { truncated: 1, alerts: [] } } })
  expect(await attempt(one, 'msg_1', 'delivered', ENDED + CLAIM_MS)).toEqual([])
  expect(await one.pending()).toEqual([])
})

test('a digest that shows what ended while it was made is made anew', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  await one.pass(NOW, { alert: a }, { alert: b })
  await one.record('delivered', OPENED)
  await one.pass(NOW + INTERVAL, end)
  expect(await makeDigest(one, { id: 'msg_1', now: ENDED - 1_000 })).toBe('lost')
  // The clock of who sent the end may be a little behind.
  expect(await makeDigest(one, { id: 'msg_1', now: ENDED + 1_000 })).toBe('lost')
  expect(await redis.store.exists(one.keys.digests.sent, one.keys.delivery.delivery('msg_1'))).toBe(0)
  expect(await makeDigest(one, { id: 'msg_1', now: ENDED + 1_000, alerts: [b] })).toBe('sent')
})

test('a digest comes though it shows what ended long ago: a failover brought it back', async () => {
  const one = aRelay(redis.store, redis.freshKeys())
  await one.pass(NOW, { alert: a })
  await one.pass(NOW + INTERVAL, end)
  expect(await makeDigest(one, { id: 'msg_1', now: ENDED + 60_000 })).toBe('sent')
})

test('an attempt is under way also for who read the time a moment before it began', async () => {
  const { one, firing, end } = await openedAndOver()
  await one.deliveries.begin(firing, ENDED + 20)
  const over = await end()
  expect(await one.deliveries.begin(firing, ENDED)).toBe('held')
  expect(await one.deliveries.begin(over, ENDED)).toBe(ENDED + BEHIND_MS)
})

test('an attempt that a daemon took with it when it died holds up nothing after the clock was set back', async () => {
  const { one, firing } = await openedAndOver()
  await one.deliveries.begin(firing, ENDED + 6 * 3_600_000)
  expect(await one.deliveries.begin(firing, ENDED)).toMatchObject({ id: firing })
})

test('a delivery waits for another one for two claims at most', async () => {
  const { one, end } = await openedAndOver()
  const over = await end()
  expect(await one.deliveries.begin(over, ENDED + 2 * CLAIM_MS - 1)).toBe(ENDED + 2 * CLAIM_MS - 1 + BEHIND_MS)
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
    await one.look(OPENED + 2 * n * INTERVAL)
    await one.look(OPENED + 2 * n * INTERVAL + WAIT)
  }
  const later = OPENED + 20 * INTERVAL
  await one.commit(...(isMass ? [end(1)] : five.map(end)))
  await one.look(later)
  await one.look(later + WAIT)
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
      expect(await one.deliveries.begin(end, later)).toBe(later + BEHIND_MS)
      const begun = await one.deliveries.begin(id, later)
      if (typeof begun !== 'object') throw new Error('nothing to send')
      await one.deliveries.record(begun, { outcome: 'delivered', nextAt: null, reason: '' }, later)
    }
    expect(await one.deliveries.begin(end, later)).toMatchObject({ id: end })
  },
)
