import { describe, expect, test } from 'vitest'
import { closeGroups } from '../../src/alerts/groups/close-groups.ts'
import { collectOutbox } from '../../src/alerts/relay.ts'
import { readAlertLog } from '../../src/views/alert-log.ts'
import { readOutboxBalance } from '../../src/views/outbox-balance.ts'
import { redisOfFile } from '../support/of-file.ts'
import { aRelay, DAY, dyingAt, idsOf, NOW, overtakenAt, WAIT } from './a-relay.ts'
import { anAlert } from './an-alert.ts'

const redis = redisOfFile()
const relay = (more: Parameters<typeof aRelay>[2] = {}) => aRelay(redis.store, redis.freshKeys(), more)
type Relay = ReturnType<typeof relay>

const BOTH = { routes: [{ to: ['mail', 'hook'] }] }
const PARTITION = 123 % 64

/** As far as deliveries that wait. */
async function onTheWay(one: Relay, count = 1) {
  await one.pass(NOW, ...Array.from({ length: count }, () => ({ alert: anAlert() })))
}

/** Transitions of the partition that were committed, as the ledger names them. */
async function refsOf({ keys }: Relay): Promise<string[]> {
  const logged = await redis.store.xrange(keys.partition(PARTITION).log, '-', '+')
  return logged.map(([id]) => `${PARTITION}-${id}`)
}

describe('the ledger', () => {
  test('follows a transition from its commit to its delivery', async () => {
    const one = relay(BOTH)
    await one.commit({ alert: anAlert() })
    await one.expectBalance({ committed: 1, opened: 1, pending: 1, delivered: 0, where: { outbox: 1, groups: 0 } })
    await one.collect(NOW)
    await one.expectBalance({ pending: 1, where: { outbox: 0, groups: 1, held: 0, deliveries: 0 } })
    await one.close(NOW + WAIT)
    await one.expectBalance({ pending: 1, where: { groups: 0, deliveries: 1 } })
    await one.record('delivered', NOW + WAIT, 'mail')
    await one.expectBalance({ pending: 1, delivered: 0 })
    await one.record('retry', NOW + WAIT)
    await one.expectBalance({ pending: 1, delivered: 0 })
    await one.record('delivered', NOW + WAIT)
    await one.expectBalance({ committed: 1, opened: 1, pending: 0, delivered: 1, dead: 0, oldestPendingAt: null })
    expect(await redis.store.hlen(one.keys.delivery.ledger)).toBe(0)
  })

  test('withholds at once what no route is for, and remembers why', async () => {
    const one = relay({ routes: [{ match: { level: ['critical'] }, to: ['mail'] }] })
    await one.commit({ alert: anAlert() })
    await one.collect(NOW)
    await one.expectBalance({ committed: 1, withheld: 1, opened: 0, pending: 0 })
    expect(await readAlertLog(one, { since: NOW - DAY })).toMatchObject([
      { transition: (await refsOf(one))[0], fate: { is: 'withheld', why: 'no route is for it' } },
    ])
  })

  test('counts a transition that is truncated or superseded as its delivery fares', async () => {
    const one = relay({ group: { max: 1 } })
    const alert = anAlert({ id: 'aaaa-1' })
    await one.commit({ alert }, { alert: { ...alert, id: 'aaaa-2', reason: 'escalated', level: 'critical' } })
    await one.pass(NOW, { alert: anAlert() })
    const [delivery] = await one.pending()
    expect(delivery?.message.data).toMatchObject({ truncated: 1, alerts: [{ id: 'aaaa-2', supersedes: ['aaaa-1'] }] })
    await one.record('delivered', NOW + WAIT)
    await one.expectBalance({ committed: 3, delivered: 3, pending: 0 })
  })

  test('counts as dead what was given up for one receiver, and as pending again once it is replayed', async () => {
    const one = relay(BOTH)
    await onTheWay(one, 2)
    await one.record('delivered', NOW + WAIT, 'mail')
    const [hook] = await one.pending()
    await one.record('dead', NOW + WAIT)
    await one.expectBalance({ opened: 2, dead: 2, pending: 0, delivered: 0 })
    expect(await one.pending()).toEqual([])
    expect(await one.deliveries.replay({ since: NOW + WAIT, receiver: 'mail' }, NOW + DAY)).toBe(0)
    expect(await one.deliveries.replay({ since: NOW + WAIT + 1, receiver: 'hook' }, NOW + DAY)).toBe(0)
    expect(await one.deliveries.replay({ since: NOW + WAIT, receiver: 'hook' }, NOW + DAY)).toBe(1)
    expect(await one.deliveries.replay({ since: NOW + WAIT, receiver: 'hook' }, NOW + DAY)).toBe(0)
    await one.expectBalance({ dead: 0, pending: 2 })
    const [again] = await one.pending()
    expect(again).toEqual({ ...hook, createdAt: NOW + DAY, attempts: 0 })
    await one.record('delivered', NOW + DAY)
    await one.expectBalance({ delivered: 2, dead: 0, pending: 0 })
  })

  test('counts as dead for good what was given up a month ago', async () => {
    const one = relay()
    await onTheWay(one)
    await one.record('dead', NOW)
    await one.deliveries.forgetDead(NOW + 30 * DAY - 1)
    expect(await one.deliveries.countDead()).toBe(1)
    await one.deliveries.forgetDead(NOW + 30 * DAY)
    expect(await one.deliveries.countDead()).toBe(0)
    await one.expectBalance({ opened: 1, dead: 1, pending: 0 })
    expect(await redis.store.hlen(one.keys.delivery.ledger)).toBe(0)
    expect(await one.deliveries.replay({ since: 0, receiver: undefined }, NOW)).toBe(0)
    expect(await readAlertLog(one, { since: 0 })).toMatchObject([{ fate: { is: 'dead', why: 'so' } }])
  })

  test('believes a delivery that arrived after all, whatever else was said of it before or after', async () => {
    const one = relay()
    await onTheWay(one)
    const [delivery] = await one.pending()
    if (delivery === undefined) throw new Error('no delivery')
    const record = (outcome: 'delivered' | 'dead' | 'retry') =>
      one.deliveries.record(delivery, { outcome, nextAt: outcome === 'retry' ? NOW : null, reason: '', ms: 1 }, NOW)
    await record('dead')
    for (const outcome of ['delivered', 'dead', 'retry', 'delivered'] as const) {
      await record(outcome)
      await one.expectBalance({ delivered: 1, dead: 0, pending: 0 })
      expect([await one.deliveries.countPending(), await one.deliveries.countDead()]).toEqual([0, 0])
    }
  })

  test('keeps of a delivery that arrived who got what, and not what it said', async () => {
    const one = relay()
    await onTheWay(one, 2)
    await one.record('delivered', NOW + WAIT)
    const [head] = await one.deliveries.heads()
    expect(head).toMatchObject({
      ...{ receiver: 'mail', type: 'alert.firing', state: 'delivered', attempts: 1, endedAt: NOW + WAIT },
      transitions: await refsOf(one),
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

describe('a transition that is lost', () => {
  test('from the outbox is named, and taken from the log', async () => {
    const one = relay()
    for (let n = 0; n < 5; n++) await one.commit({ alert: anAlert() })
    await redis.store.del(one.keys.partition(PARTITION).outbox)
    expect(await one.verify()).toMatchObject({ balanced: false, missing: await refsOf(one) })
    expect(await one.collect(NOW)).toBe(5)
    await one.expectBalance({ committed: 5, pending: 5 })
  })

  test('from a group or with a delivery is named', async () => {
    const one = relay(BOTH)
    await one.commit({ alert: anAlert() })
    await one.collect(NOW)
    await redis.store.del(one.keys.delivery.group('hook|rule=customProperties.overall'))
    const [transition] = await refsOf(one)
    const astray = (pending: number) => [{ transition, ledger: { pending: 2, dead: 0 }, found: { pending, dead: 0 } }]
    expect(await one.verify()).toMatchObject({ balanced: false, astray: astray(1) })
    await one.close(NOW + WAIT)
    const [id = ''] = await redis.store.zrange(one.keys.delivery.deliveriesDue, 0, '0')
    await redis.store.del(one.keys.delivery.delivery(id))
    expect(await one.verify()).toMatchObject({ balanced: false, astray: astray(0) })
  })
})

describe('what the node of the deliveries forgets after it was collected', () => {
  test.each([true, false])('is collected again from the log, in its order; committed since: %s', async (isMore) => {
    const one = relay()
    const alerts = Array.from({ length: 5 }, () => anAlert())
    const commit = async (...some: typeof alerts) => {
      for (const alert of some) await one.commit({ alert })
    }
    await commit(...alerts.slice(0, 2))
    await one.collect(NOW)
    const restore = await remembered(one)
    await commit(...alerts.slice(2, 4))
    expect(await one.collect(NOW)).toBe(2)
    await restore()
    if (isMore) await commit(...alerts.slice(4))
    expect(await one.collect(NOW)).toBe(isMore ? 3 : 2)
    expect(one.lines.lines().filter(({ code }) => code === 'outbox.recovered')).toMatchObject([
      { alerts: `${alerts[2]?.id} ${alerts[3]?.id}` },
    ])
    expect(await one.collect(NOW)).toBe(0)
    await one.close(NOW + WAIT)
    expect((await one.told()).sort()).toEqual(
      alerts
        .slice(0, isMore ? 5 : 4)
        .map(({ id }) => id)
        .sort(),
    )
    await one.expectBalance({ committed: isMore ? 5 : 4 })
  })

  test('is not passed over by a relay that had read before what was collected', async () => {
    const one = relay()
    const alerts = Array.from({ length: 3 }, () => anAlert())
    await one.commit({ alert: alerts[0] ?? anAlert() })
    await one.collect(NOW)
    let restore: (() => Promise<void>) | undefined = await remembered(one)
    await one.commit({ alert: alerts[1] ?? anAlert() })
    await one.collect(NOW)
    await one.commit({ alert: alerts[2] ?? anAlert() })
    const store = overtakenAt(redis.store, 'collectAlerts', async () => {
      await restore?.()
      restore = undefined
    })
    expect(await collectOutbox({ ...one.deps, store }, NOW)).toBe(2)
    await one.close(NOW + WAIT)
    expect((await one.told()).sort()).toEqual(alerts.map(({ id }) => id).sort())
    await one.expectBalance({ committed: 3 })
  })

  test('is no reason to withhold what is over: its receiver need not have heard of it', async () => {
    const one = relay()
    const alert = anAlert({ id: 'aaaa-1' })
    await one.commit({ alert }, { alert: { ...alert, id: 'aaaa-2', reason: 'recovered', status: 'resolved' } })
    await one.collect(NOW)
    const restore = await remembered(one)
    let isFirst = true
    const others = overtakenAt(redis.store, 'zmscore', async () => {
      if (isFirst) await one.close(NOW + WAIT)
      isFirst = false
    })
    const store = overtakenAt(others, 'withholdAlerts', restore)
    await closeGroups({ ...one.deps, store }, NOW + WAIT)
    await one.close(NOW + WAIT)
    expect(await one.told()).toEqual(['aaaa-2'])
    await one.expectBalance({ withheld: 0, pending: 2 })
  })

  test.each([
    ['the first ones of a partition are told', 2, NOW, 2],
    ['more than a few are not, where it forgets all it ever had', 21, NOW, 0],
    ['what is older than a day is not', 2, NOW + DAY, 0],
  ])('%s', async (_, count, at, collected) => {
    const one = relay()
    await onTheWay(one, count)
    await redis.store.del(...(await deliveryKeys(one)))
    expect(await one.collect(at)).toBe(collected)
    expect((await one.verify()).missing).toHaveLength(count - collected)
  })

  test('of which nothing is to be had is not looked for in the whole log with each sweep', async () => {
    const one = relay()
    await onTheWay(one, 2)
    const restore = await remembered(one)
    for (let n = 0; n < 3; n++) await one.commit({ alert: anAlert() })
    await one.collect(NOW)
    await restore()
    let read = 0
    const store = new Proxy(redis.store, {
      get: (real, name) => {
        if (name === 'lrange') read++
        const value = Reflect.get(real, name)
        return typeof value === 'function' ? value.bind(real) : value
      },
    })
    for (let sweep = 0; sweep < 3; sweep++) expect(await collectOutbox({ ...one.deps, store }, NOW + DAY)).toBe(0)
    expect(read).toBe(0)
  })

  const deliveryKeys = ({ keys }: Relay) => redis.store.keys(`${keys.prefix}:{delivery}:*`)

  async function remembered(one: Relay): Promise<() => Promise<void>> {
    const kept = await Promise.all(
      (await deliveryKeys(one)).map(async (key) => ({ key, value: await redis.store.dumpBuffer(key) })),
    )
    return async () => {
      await redis.store.del(...(await deliveryKeys(one)))
      for (const { key, value } of kept) if (value !== null) await redis.store.restore(key, 0, value)
    }
  }
})

test('alerts of an account that is uninstalled, and forgotten, still go out', async () => {
  const one = relay()
  const own = one.keys.account(123)
  await redis.store.hset(own.account, { state: 'uninstalled', purgeAt: NOW })
  const fired = anAlert({ id: 'aaaa-1' })
  await one.commit({ alert: fired }, { alert: { ...fired, id: 'aaaa-2', status: 'resolved', reason: 'uninstalled' } })
  const everything = [own.account, own.alerts, own.history]
  expect(await redis.store.purgeAccount(own.account, 123, NOW, ...everything)).toBe('purged')
  await one.collect(NOW)
  await one.close(NOW + WAIT)
  await one.record('delivered', NOW)
  await one.expectBalance({ committed: 2, delivered: 2, pending: 0 })
})

describe('dying', () => {
  test.each([
    ['before it is collected', 'collectAlerts', 'before'],
    ['after it is collected', 'collectAlerts', 'after'],
    ['before it leaves the outbox', 'xdel', 'before'],
    ['after it has left the outbox', 'xdel', 'after'],
  ] as const)('%s delivers an alert once', async (_, command, done) => {
    const one = relay(BOTH)
    await one.commit({ alert: anAlert() })
    const dying = { ...one.deps, store: dyingAt(redis.store, command, done) }
    await expect(collectOutbox(dying, NOW)).rejects.toThrow('dead')
    await one.collect(NOW)
    await one.close(NOW + WAIT)
    expect(await one.pending()).toHaveLength(2)
    await one.expectBalance({ pending: 1 })
  })

  test.each(['before', 'after'] as const)('%s a group is closed makes its deliveries once', async (done) => {
    const one = relay(BOTH)
    await one.commit({ alert: anAlert() })
    await one.collect(NOW)
    const dying = { ...one.deps, store: dyingAt(redis.store, 'closeGroup', done) }
    await expect(closeGroups(dying, NOW + WAIT)).rejects.toThrow('dead')
    await one.close(NOW + WAIT)
    expect((await one.pending()).map(({ receiver }) => receiver).sort()).toEqual(['hook', 'mail'])
    await one.expectBalance({ pending: 1 })
  })
})

test('two relays at once collect and close everything once', async () => {
  const one = relay(BOTH)
  const alerts = Array.from({ length: 1_200 }, () => anAlert())
  await one.commit(...alerts.map((alert) => ({ alert })))
  await Promise.all(Array.from({ length: 4 }, () => one.collect(NOW)))
  await Promise.all(Array.from({ length: 4 }, () => one.close(NOW + WAIT)))
  expect(await one.pending()).toHaveLength(2)
  await one.expectBalance({ committed: 1_200, pending: 1_200 })
  await one.record('delivered', NOW)
  await one.expectBalance({ delivered: 1_200, pending: 0 })
})

test('a look at the outbox while it is at work finds it balanced', async () => {
  const one = relay({ ...BOTH, group: { waitMs: 0, intervalMs: 0 } })
  let working = true
  const work = (async () => {
    for (let n = 0; n < 60; n++) {
      await one.commit(
        ...Array.from({ length: 20 }, () => ({ alert: anAlert({ account: { hubId: n, hubDomain: '' } }) })),
      )
      await one.collect(NOW)
      await one.close(NOW)
      await one.record(n % 3 === 0 ? 'dead' : 'delivered', NOW)
      if (n % 10 === 0) await one.deliveries.replay({ since: 0, receiver: undefined }, NOW)
    }
    working = false
  })()
  let looks = 0
  while (working) {
    expect(await readOutboxBalance(one, NOW)).toMatchObject({ balanced: true })
    expect(await one.verify()).toMatchObject({ balanced: true, astray: [], missing: [] })
    looks++
  }
  await work
  expect(looks).toBeGreaterThan(2)
})

test('what leaves the outbox while verify looks is counted once', async () => {
  const one = relay()
  for (let n = 0; n < 5; n++) await one.commit({ alert: anAlert() })
  const dies = { ...one.deps, store: dyingAt(redis.store, 'xdel', 'before') }
  await expect(collectOutbox(dies, NOW)).rejects.toThrow('dead')
  const leaves = () => redis.store.del(one.keys.partition(PARTITION).outbox)
  const store = overtakenAt(redis.store, 'lrange', leaves, one.keys.delivery.collected(PARTITION))
  expect(await one.verify(store)).toMatchObject({
    ...{ balanced: true, committed: 5, opened: 5, pending: 5, inOutbox: 0, where: { outbox: 0, groups: 5 } },
  })
})

test('ten thousand alerts of one moment are one message, with all of them in the ledger', {
  timeout: 60_000,
}, async () => {
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
  expect(await one.collect(NOW)).toBe(10_000)
  await one.close(NOW + WAIT)
  const [delivery, ...others] = await one.pending()
  expect(others).toEqual([])
  expect(delivery?.message.data.alerts).toHaveLength(200)
  expect(delivery?.message.data.truncated).toBe(9_800)
  expect((await one.deliveries.head(delivery?.id ?? ''))?.transitions).toHaveLength(10_000)
  await one.expectBalance({ pending: 10_000 })
  await one.record('delivered', NOW)
  await one.expectBalance({ delivered: 10_000, pending: 0 })
  expect(idsOf(delivery?.message)).toHaveLength(200)
})

test('of what was collected no more is remembered than a log has, and some more', async () => {
  const one = relay()
  for (let n = 0; n < 5; n++) await one.commit(...Array.from({ length: 500 }, () => ({ alert: anAlert() })))
  expect(await one.collect(NOW)).toBe(2_500)
  expect(await redis.store.llen(one.keys.delivery.collected(PARTITION))).toBe(2_000)
  expect(await one.collect(NOW)).toBe(0)
})

describe('a node that took over for a partition, with writes lost and its clock behind', () => {
  test.each([true, false])(
    'has what it commits told after what was collected; was that escalated: %s',
    async (escalated) => {
      const one = relay()
      const { outbox, log } = one.keys.partition(PARTITION)
      const fired = anAlert({ id: 'aaaa-1' })
      await one.commit({ alert: fired })
      await one.collect(NOW)
      if (escalated) {
        await one.commit({ alert: { ...fired, id: 'aaaa-2', level: 'critical', reason: 'escalated' } })
        await one.collect(NOW)
      }
      await redis.store.del(outbox, log)
      // The next poll finds that it is over, and commits that behind what is left of the alert.
      const alert = anAlert({ id: escalated ? 'aaaa-2' : 'aaaa-1', status: 'resolved', reason: 'recovered' })
      const entry = JSON.stringify({ alert })
      await redis.store.xadd(log, '5-0', 'alert', entry)
      await redis.store.xadd(outbox, '5-0', 'alert', entry, 'name', '5-0')
      const dies = { ...one.deps, store: dyingAt(redis.store, 'xdel', 'before') }
      await expect(collectOutbox(dies, NOW)).rejects.toThrow('dead')
      expect(await one.collect(NOW)).toBe(0)
      expect(await redis.store.xlen(outbox)).toBe(0)
      const committed = escalated ? 3 : 2
      one.resolve(fired)
      await one.expectBalance({ committed, pending: committed })
      await one.close(NOW + WAIT)
      expect((await one.pending()).map(({ message }) => message)).toMatchObject([
        { type: 'alert.resolved', data: { alerts: [{ id: alert.id, status: 'resolved' }] } },
      ])
      await one.expectBalance({ committed, pending: committed, unresolved: [] })
    },
  )

  test('gives out no place in the log again', async () => {
    const one = relay()
    const { outbox, log } = one.keys.partition(PARTITION)
    const [old, lost, next] = [anAlert({ measuredAt: new Date(NOW - DAY).toISOString() }), anAlert(), anAlert()]
    const asBefore = async () => {
      await redis.store.del(outbox, log)
      // No clock is ahead of that: the next place follows from it.
      await redis.store.xadd(log, '9999999999999-0', 'alert', JSON.stringify({ alert: old }))
    }
    await asBefore()
    await one.commit({ alert: lost })
    expect(await one.collect(NOW)).toBe(1)
    await asBefore()
    await one.commit({ alert: next })
    expect(await one.collect(NOW)).toBe(1)
    await one.close(NOW + WAIT)
    expect((await one.told()).sort()).toEqual([lost.id, next.id].sort())
    await one.expectBalance({ committed: 2, pending: 2 })
  })
})
