import { describe, expect, test } from 'vitest'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import { readAlertLog } from '../../../src/views/alert-log.ts'
import { readOutboxBalance } from '../../../src/views/outbox-balance.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, DAY, INTERVAL, idsOf, NOW, overtakenAt, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
const relay = (more: Parameters<typeof aRelay>[2] = {}) => aRelay(redis.store, redis.freshKeys(), more)
type Relay = ReturnType<typeof relay>

const BOTH = { routes: [{ to: ['mail', 'hook'] }] }

/** As far as deliveries that wait. */
async function onTheWay(one: Relay, count = 1) {
  await one.pass(NOW, ...Array.from({ length: count }, () => ({ alert: anAlert() })))
}

/** Transitions that were committed, by their places. */
async function refsOf({ keys }: Relay): Promise<string[]> {
  const logged = await redis.store.xrange(keys.transitions, '-', '+')
  return logged.map(([id]) => id)
}

/** What became of each transition: of all, and of each receiver. */
async function fatesOf(one: Relay) {
  const log = await readAlertLog(one, { since: 0 })
  return log.map(({ fate, receivers }) => [
    fate.why === '' ? fate.is : `${fate.is}: ${fate.why}`,
    ...receivers.map(({ receiver, is }) => `${receiver} ${is}`).sort(),
  ])
}

describe('what becomes of an alert', () => {
  test('is known from its commit to its delivery, for each receiver', async () => {
    const one = relay(BOTH)
    await one.commit({ alert: anAlert() })
    await one.expectBalance({ open: 1, pending: 1, inOutbox: 1, waiting: 0, waits: [] })
    expect(await fatesOf(one)).toEqual([['pending']])
    await one.look(NOW)
    await one.expectBalance({
      pending: 2,
      inOutbox: 0,
      waiting: 2,
      waits: [{ receiver: 'hook' }, { receiver: 'mail' }],
    })
    expect(await fatesOf(one)).toEqual([['pending', 'hook pending', 'mail pending']])
    await one.look(NOW + WAIT)
    await one.expectBalance({ pending: 2, waiting: 0, deliveries: 2, waits: [] })
    await one.record('delivered', NOW + WAIT, 'mail')
    expect(await fatesOf(one)).toEqual([['pending', 'hook pending', 'mail delivered']])
    await one.record('retry', NOW + WAIT)
    expect(await fatesOf(one)).toEqual([['pending', 'hook pending', 'mail delivered']])
    await one.record('delivered', NOW + WAIT)
    expect(await fatesOf(one)).toEqual([['delivered', 'hook delivered', 'mail delivered']])
    await one.expectBalance({ open: 1, pending: 0, dead: 0, oldestPendingAt: null, lateSince: null })
  })

  test('is nothing where no route is for it, and that is said', async () => {
    const one = relay({ routes: [{ match: { level: ['critical'] }, to: ['mail'] }] })
    await one.commit({ alert: anAlert() })
    expect(await one.look(NOW)).toBeUndefined()
    await one.expectBalance({ open: 1, pending: 0 })
    expect(await readAlertLog(one, { since: NOW - DAY })).toMatchObject([
      { transition: (await refsOf(one))[0], fate: { is: 'withheld', why: 'no route is for it' } },
    ])
  })

  test('is the same for one that is truncated or superseded', async () => {
    const one = relay({ group: { max: 1 } })
    const alert = anAlert({ id: 'aaaa-1' })
    await one.commit({ alert }, { alert: { ...alert, id: 'aaaa-2', reason: 'escalated', level: 'critical' } })
    await one.pass(NOW, { alert: anAlert() })
    const [delivery] = await one.pending()
    expect(delivery?.message.data).toMatchObject({ truncated: 1, alerts: [{ id: 'aaaa-2', supersedes: ['aaaa-1'] }] })
    await one.record('delivered', NOW + WAIT)
    expect(await fatesOf(one)).toEqual(Array(3).fill(['delivered', 'mail delivered']))
  })

  test('is dead where it was given up for one receiver, and pending again once it is replayed', async () => {
    const one = relay(BOTH)
    await onTheWay(one, 2)
    await one.record('delivered', NOW + WAIT, 'mail')
    const [hook] = await one.pending()
    await one.record('dead', NOW + WAIT)
    await one.expectBalance({ dead: 1, pending: 0 })
    expect(await fatesOf(one)).toEqual(
      Array(2).fill(['dead: its delivery was given up (so): plimsoll outbox replay', 'hook dead', 'mail delivered']),
    )
    expect(await one.pending()).toEqual([])
    expect(await one.deliveries.replay({ since: NOW + WAIT, receiver: 'mail' }, NOW + DAY)).toBe(0)
    expect(await one.deliveries.replay({ since: NOW + WAIT + 1, receiver: 'hook' }, NOW + DAY)).toBe(0)
    expect(await one.deliveries.replay({ since: NOW + WAIT, receiver: 'hook' }, NOW + DAY)).toBe(1)
    expect(await one.deliveries.replay({ since: NOW + WAIT, receiver: 'hook' }, NOW + DAY)).toBe(0)
    await one.expectBalance({ dead: 0, pending: 1 })
    const [again] = await one.pending()
    expect(again).toEqual({ ...hook, createdAt: NOW + DAY, attempts: 0 })
    await one.record('delivered', NOW + DAY)
    expect(await fatesOf(one)).toEqual(Array(2).fill(['delivered', 'hook delivered', 'mail delivered']))
  })

  test('is forgotten a month after it was given up', async () => {
    const one = relay()
    await onTheWay(one)
    await one.record('dead', NOW)
    await one.deliveries.forgetDead(NOW + 30 * DAY - 1)
    expect(await one.deliveries.countDead()).toBe(1)
    await one.deliveries.forgetDead(NOW + 30 * DAY)
    expect(await one.deliveries.countDead()).toBe(0)
    expect(await one.deliveries.replay({ since: 0, receiver: undefined }, NOW)).toBe(0)
  })

  test('is that it arrived after all, whatever else was said of it before or after', async () => {
    const one = relay()
    await onTheWay(one)
    const [delivery] = await one.pending()
    if (delivery === undefined) throw new Error('no delivery')
    const record = (outcome: 'delivered' | 'dead' | 'retry') =>
      one.deliveries.record(delivery, { outcome, nextAt: outcome === 'retry' ? NOW : null, reason: '', ms: 1 }, NOW)
    await record('dead')
    for (const outcome of ['delivered', 'dead', 'retry', 'delivered'] as const) {
      await record(outcome)
      expect(await fatesOf(one)).toEqual([['delivered', 'mail delivered']])
      expect([await one.deliveries.countPending(), await one.deliveries.countDead()]).toEqual([0, 0])
    }
  })

  test('is kept of a delivery that arrived, and not what it said', async () => {
    const one = relay()
    await onTheWay(one, 2)
    await one.record('delivered', NOW + WAIT)
    const [head] = await one.deliveries.heads()
    expect(head).toMatchObject({
      receiver: 'mail',
      type: 'alert.firing',
      state: 'delivered',
      attempts: 1,
      endedAt: NOW + WAIT,
      shown: expect.arrayContaining(await refsOf(one)),
    })
    const key = one.keys.delivery.delivery(head?.id ?? '')
    expect(await redis.store.hexists(key, 'message')).toBe(0)
    expect(await redis.store.pttl(key)).toBeGreaterThan(6 * DAY)
    // A week later nothing is known of it any more.
    await one.pass(NOW + 8 * DAY, { alert: anAlert() })
    await one.record('delivered', NOW + 8 * DAY)
    expect(await redis.store.zcard(one.keys.delivery.delivered)).toBe(1)
  })
})

test('what a receiver should know, and does not, is said: it is open, and was sent', async () => {
  const one = relay()
  const alert = anAlert({ id: 'aaaa-1' })
  await one.pass(NOW, { alert })
  await one.expectBalance({ open: 1 })
  await redis.store.hdel(one.keys.delivery.known('mail'), 'aaaa')
  expect(await one.verify()).toMatchObject({ balanced: false, missing: [{ receiver: 'mail', alert: 'aaaa' }] })
})

test('an end that is on no way is said: it was sent as firing, and is not open', async () => {
  const one = relay()
  await one.pass(NOW, { alert: anAlert({ id: 'aaaa-1' }) })
  one.resolve(anAlert({ id: 'aaaa-1' }))
  expect(await one.verify()).toMatchObject({ balanced: false, unresolved: [{ receiver: 'mail', alert: 'aaaa' }] })
})

test('alerts of an account that is uninstalled, and forgotten, still go out', async () => {
  const one = relay()
  const own = one.keys.account(123)
  await redis.store.hset(own.account, { state: 'uninstalled', purgeAt: NOW })
  const fired = anAlert({ id: 'aaaa-1' })
  await one.commit({ alert: fired }, { alert: { ...fired, id: 'aaaa-2', status: 'resolved', reason: 'uninstalled' } })
  const everything = [own.account, own.alerts, own.history]
  expect(await redis.store.purgeAccount(own.account, 123, NOW, ...everything)).toBe('purged')
  await one.look(NOW)
  await one.look(NOW + WAIT)
  await one.record('delivered', NOW)
  expect(await fatesOf(one)).toEqual(Array(2).fill(['delivered', 'mail delivered']))
})

test('a look that read what is no longer the news of an alert changes nothing: its end is sent', async () => {
  const one = relay()
  const fired = anAlert({ id: 'aaaa-1' })
  await one.commit({ alert: fired })
  await one.look(NOW)
  const others = async () => {
    await one.look(NOW + WAIT)
    await one.commit({ alert: { ...fired, id: 'aaaa-2', status: 'resolved', reason: 'recovered' } })
    await one.look(NOW + WAIT)
  }
  const store = overtakenAt(redis.store, 'hmget', others, one.keys.delivery.known('mail'))
  await sendAlerts({ ...one.deps, store }, NOW + WAIT)
  await one.look(NOW + WAIT + INTERVAL)
  const sent = (await one.pending()).flatMap(({ message }) => message.data.alerts.map(({ id }) => id))
  expect(sent.sort()).toEqual(['aaaa-1', 'aaaa-2'])
})

test('a look at the outbox while it is at work finds it balanced', async () => {
  const one = relay({ ...BOTH, group: { waitMs: 0, intervalMs: 0 } })
  let working = true
  const work = (async () => {
    for (let n = 0; n < 60; n++) {
      await one.commit(
        ...Array.from({ length: 20 }, () => ({ alert: anAlert({ account: { hubId: n, hubDomain: '' } }) })),
      )
      await one.look(NOW + n * 60_000)
      await one.record(n % 3 === 0 ? 'dead' : 'delivered', NOW)
      if (n % 10 === 0) await one.deliveries.replay({ since: 0, receiver: undefined }, NOW)
    }
    working = false
  })()
  let looks = 0
  while (working) {
    await readOutboxBalance(one, NOW)
    expect(await one.verify()).toMatchObject({ balanced: true, missing: [], unresolved: [] })
    looks++
  }
  await work
  expect(looks).toBeGreaterThan(2)
})

test('ten thousand alerts of one moment are one message, and all of them are known', async () => {
  const one = relay()
  for (let hubId = 0; hubId < 10_000; hubId += 500) {
    const more = Array.from({ length: 500 }, (_, n) => ({
      alert: anAlert({
        level: 'critical',
        account: { hubId: (hubId / 500) % 64, hubDomain: `hub-${hubId + n}.example.com` },
      }),
    }))
    await one.commit(...more)
  }
  expect(await sendAlerts(one.deps, NOW)).toMatchObject({ found: 10_000 })
  await one.look(NOW + WAIT)
  const [delivery, ...others] = await one.pending()
  expect(others).toEqual([])
  expect(delivery?.message.data.alerts).toHaveLength(200)
  expect(delivery?.message.data.truncated).toBe(9_800)
  expect((await one.deliveries.head(delivery?.id ?? ''))?.carried).toHaveLength(10_000)
  await one.expectBalance({ open: 10_000, waiting: 0, deliveries: 1 })
  expect(idsOf(delivery?.message)).toHaveLength(200)
})

describe('a node that took over, with writes lost and its clock behind', () => {
  test.each([true, false])(
    'has what it commits told after what was told; was that escalated: %s',
    async (escalated) => {
      const one = relay()
      const { transitions, news, unsent } = one.keys
      const fired = anAlert({ id: 'aaaa-1' })
      await one.pass(NOW, { alert: fired })
      const stored = (await redis.store.hget(news, 'aaaa')) ?? ''
      if (escalated) {
        await one.commit({ alert: { ...fired, id: 'aaaa-2', level: 'critical', reason: 'escalated' } })
        await one.look(NOW + INTERVAL)
        await one.look(NOW + INTERVAL + WAIT)
      }
      await redis.store.del(transitions, news, unsent)
      await redis.store.hset(news, 'aaaa', stored)
      // The next poll finds that it is over, and commits that behind what is left of the alert.
      const alert = anAlert({ id: 'aaaa-2', status: 'resolved', reason: 'recovered' })
      await one.commit({ alert })
      await one.pass(NOW + 2 * INTERVAL)
      expect((await one.pending()).at(-1)?.message).toMatchObject({
        type: 'alert.resolved',
        data: { alerts: [{ id: 'aaaa-2', status: 'resolved' }] },
      })
      await one.expectBalance({ waiting: 0 })
    },
  )

  test('gives out no place in the log again', async () => {
    const one = relay()
    const { transitions, news, unsent } = one.keys
    const [old, lost, next] = [anAlert({ measuredAt: new Date(NOW - DAY).toISOString() }), anAlert(), anAlert()]
    const asBefore = async () => {
      await redis.store.del(transitions, news, unsent)
      // No clock is ahead of that: the next place follows from it.
      await redis.store.xadd(transitions, '9999999999999-0', 'alert', JSON.stringify({ alert: old }))
    }
    await asBefore()
    await one.commit({ alert: lost })
    const [, before] = await refsOf(one)
    await one.look(NOW)
    await asBefore()
    await one.commit({ alert: next })
    expect((await refsOf(one))[1]).not.toBe(before)
  })
})

test('a store that is overtaken while verify looks finds nothing wrong', async () => {
  const one = relay()
  await one.pass(NOW, { alert: anAlert({ id: 'aaaa-1' }) })
  let isOver = false
  const ends = async () => {
    if (isOver) return
    isOver = true
    await one.commit({ alert: anAlert({ id: 'aaaa-2', status: 'resolved', reason: 'recovered' }) })
  }
  const store = overtakenAt(redis.store, 'zrange', ends, one.keys.unsent)
  expect(await one.verify(store)).toMatchObject({ balanced: true })
})

test.each(['null', '5', '"told"', '[1]', '{'])(
  '%s where a receiver knew an alert is nothing that it knows, and stops no other',
  async (odd) => {
    const one = relay()
    const [first, second] = [anAlert({ id: 'a-1' }), anAlert({ id: 'b-1' })]
    await one.commit({ alert: first }, { alert: second })
    await redis.store.hset(one.keys.delivery.known('mail'), 'a', odd)
    await one.look(NOW)
    await one.look(NOW + WAIT)
    const [delivery] = await one.pending()
    expect(idsOf(delivery?.message).sort()).toEqual(['a-1', 'b-1'])
  },
)
