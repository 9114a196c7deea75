import { describe, expect, test } from 'vitest'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { deliveryAnnouncer } from '../../../src/alerts/kinds/delivery-alert.ts'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import type { Keys } from '../../../src/redis/keys.ts'
import { NO_ACCOUNT, stepJson } from '../../../src/redis/steps.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { pendingIds } from '../../support/take-due.ts'
import { aRelay, dyingAt, INTERVAL, idsOf, NOW, overtakenAt, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
/** Alerts on their way to `ops-mail`, unless routes say otherwise. */
function relay(more: Parameters<typeof aRelay>[2] = {}) {
  const receivers = ['ops-mail', 'ops-hook', 'pager']
  const one = aRelay(redis.store, redis.freshKeys(), { routes: [{ to: ['ops-mail'] }], receivers, ...more })
  const { keys } = one
  return {
    ...one,
    commit: (...alerts: Alert[]) => one.commit(...alerts.map((alert) => ({ alert }))),
    pass: (now: number, ...alerts: Alert[]) => one.pass(now, ...alerts.map((alert) => ({ alert }))),
    first: (alert = anAlert()) => one.commit({ alert, firstReading: true }),
    deliveries: () => deliveries(keys),
  }
}

/** Every delivery there is, by when it was made and for whom. */
async function deliveries(keys: Keys): Promise<{ receiver: string; message: Message; at: number }[]> {
  const found = (await pendingIds(redis.store, keys)).map(async (id) => {
    const { receiver = '', message = '{}', createdAt } = await redis.store.hgetall(keys.delivery.delivery(id))
    return { receiver, message: JSON.parse(message) as Message, at: Number(createdAt) }
  })
  return Promise.all(found)
}

describe('an alert on its way out', () => {
  test('is not held up by what else was written where its news is, however much: that is dropped, and logged', async () => {
    const one = relay()
    const { news, unsent } = one.keys
    const many = redis.store.pipeline()
    for (let n = 0; n < 10_001; n++) many.zadd(unsent, 'NX', 1e12, `x${n}`)
    await many.exec()
    for (const [alert, stored] of Object.entries({ x1: 'a b', x2: '', x3: '1-1 0 - 0 {"alert":{}}' }))
      await redis.store.hset(news, alert, stored)
    await one.commit(anAlert())
    await one.look(NOW)
    await one.look(NOW)
    expect(one.lines.lines()).toContainEqual(expect.objectContaining({ code: 'outbox.unreadable', count: 10_000 }))
    expect(await redis.store.zcard(unsent)).toBe(0)
    expect(await redis.store.hlen(news)).toBe(1)
    await one.look(NOW + WAIT)
    expect(await one.deliveries()).toHaveLength(1)
  })

  test('waits in the group of every receiver that its route names, and closes into a delivery each', async () => {
    const one = relay({ routes: [{ to: ['ops-mail', 'ops-hook'] }] })
    const alert = anAlert()
    await one.commit(alert)
    expect(await sendAlerts(one.deps, NOW)).toEqual({ next: NOW + WAIT, found: 1 })
    expect(await sendAlerts(one.deps, NOW + WAIT)).toEqual({ next: undefined, found: 0 })
    expect(await redis.store.zcard(one.keys.unsent)).toBe(0)
    const made = await one.deliveries()
    expect(made.map(({ receiver }) => receiver).sort()).toEqual(['ops-hook', 'ops-mail'])
    for (const { message, at } of made) {
      expect(at).toBe(NOW + WAIT)
      expect(message).toEqual({
        type: 'alert.firing',
        timestamp: new Date(NOW + WAIT).toISOString(),
        data: { groupKey: 'rule=customProperties.overall', truncated: 0, alerts: [alert] },
      })
    }
  })

  test('is sent once to each receiver though whoever looks dies before that is settled, again and again', async () => {
    const one = relay({ routes: [{ to: ['a', 'b'] }] })
    const alert = anAlert()
    await one.commit(alert)
    const dying = { ...one.deps, store: dyingAt(redis.store, 'settleNews', 'before') }
    for (const now of [NOW, NOW + 1_000, NOW + WAIT, NOW + WAIT + 1_000, NOW + 2 * INTERVAL])
      await expect(sendAlerts(dying, now)).rejects.toThrow('dead')
    expect(await sendAlerts(one.deps, NOW + 2 * INTERVAL)).toMatchObject({ next: undefined })
    await one.look(NOW + 49 * 3_600_000)
    const made = await one.deliveries()
    expect(made.map(({ receiver }) => receiver).sort()).toEqual(['a', 'b'])
    expect(made.flatMap(({ message }) => idsOf(message))).toEqual([alert.id, alert.id])
  })

  test('of whatever account, and however many, is sent', async () => {
    const one = relay()
    const alerts = Array.from({ length: 1_300 }, (_, n) =>
      anAlert({ account: { hubId: n < 1_100 ? 64 : n, hubDomain: '' } }),
    )
    await Promise.all(alerts.map((alert) => one.commit(alert)))
    expect(await sendAlerts(one.deps, NOW)).toMatchObject({ found: 1_300 })
    await one.look(NOW + WAIT)
    const [made] = await one.deliveries()
    expect(made?.message.data).toMatchObject({ truncated: 1_100 })
    expect(made?.message.data.alerts).toHaveLength(200)
  })
})

describe('a group', () => {
  test('lets an interval pass between two messages', async () => {
    const one = relay()
    await one.pass(NOW, anAlert())
    await one.commit(anAlert())
    await one.look(NOW + WAIT + 1_000)
    await one.look(NOW + 2 * WAIT + 1_000)
    expect(await one.closesAt()).toBe(NOW + WAIT + INTERVAL)
    expect(await one.deliveries()).toHaveLength(1)
    await one.look(NOW + WAIT + INTERVAL)
    expect(await one.deliveries()).toHaveLength(2)
  })

  test('is one for all alerts that have in common what the config says', async () => {
    const one = relay({ group: { by: ['account', 'level'] } })
    const in5 = { account: { hubId: 5, hubDomain: '' } }
    await one.commit(anAlert({ ...in5, rule: 'x' }))
    await one.commit(anAlert({ ...in5, rule: 'y' }))
    await one.commit(anAlert({ ...in5, level: 'critical' }))
    await one.pass(NOW, anAlert({ account: { hubId: 6, hubDomain: '' } }))
    const made = await one.deliveries()
    expect(made.map(({ message }) => message.data.groupKey).sort()).toEqual([
      'account=5|level=critical',
      'account=5|level=warning',
      'account=6|level=warning',
    ])
    expect(made.every(({ receiver }) => receiver === 'ops-mail')).toBe(true)
  })

  // The config takes letters, digits, _ and - in the name of a receiver; a rule may be called anything.
  test.each([
    ['by rule', ['rule'] as const, 'rule=a | b|digest'],
    ['of everything', [], ''],
  ])('%s goes to its receiver whatever receiver and rule are called', async (_, by, groupKey) => {
    const one = relay({ routes: [{ to: ['ops_mail-2', 'digest'] }], group: { by } })
    await one.pass(NOW, anAlert({ rule: 'a | b|digest' }))
    const made = await one.deliveries()
    expect(made.map(({ receiver }) => receiver).sort()).toEqual(['digest', 'ops_mail-2'])
    expect(made.map(({ message }) => [message.type, message.data.groupKey])).toEqual(
      Array(2).fill(['alert.firing', groupKey]),
    )
  })

  test('that closes while another alert is collected loses nothing', async () => {
    const one = relay({ group: { waitMs: 0, intervalMs: 0 } })
    const alerts = Array.from({ length: 200 }, (_, n) => anAlert({ account: { hubId: n, hubDomain: '' } }))
    let closing = true
    const closer = (async () => {
      while (closing) await one.look(NOW)
    })()
    for (const alert of alerts) {
      await one.commit(alert)
      await one.look(NOW)
    }
    closing = false
    await closer
    await one.look(NOW)
    await one.look(NOW + 1)
    const ids = (await one.deliveries()).flatMap(({ message }) => idsOf(message))
    expect(ids.sort()).toEqual(alerts.map(({ id }) => id).sort())
  })

  test.each([
    ['sends it as soon as anything urgent', 1, NOW + 2 * WAIT],
    ['lets it wait for the interval where the message was full of such', 20, NOW + WAIT + INTERVAL],
  ])('that closes while something urgent is committed %s', async (_, urgent, expected) => {
    const one = relay()
    let hubId = 0
    const critical = () => anAlert({ level: 'critical', account: { hubId: ++hubId, hubDomain: '' } })
    await one.commit(anAlert())
    for (let n = 0; n < urgent; n++) await one.commit(critical())
    await one.look(NOW)
    const store = overtakenAt(redis.store, 'recordSends', () => one.commit(critical()))
    await sendAlerts({ ...one.deps, store }, NOW + WAIT)
    expect(await one.deliveries()).toHaveLength(1)
    await one.look(NOW + WAIT)
    expect(await one.closesAt()).toBe(expected)
  })
})

describe('where levels have groups of their own', () => {
  /** An alert that was told, and has since grown worse twice: the second time in another group. */
  async function escalated() {
    const one = relay({ group: { by: ['level'] } })
    await one.pass(NOW, anAlert())
    await one.commit(anAlert({ id: 'a-1' }))
    await one.commit(anAlert({ id: 'a-2', level: 'critical', reason: 'escalated' }))
    await one.look(NOW + WAIT)
    return one
  }

  async function expectTakenAlong(one: ReturnType<typeof relay>) {
    const told = (await one.deliveries()).flatMap(({ message }) => message.data.alerts)
    expect(told).toMatchObject([{}, { id: 'a-2', supersedes: ['a-1'] }])
  }

  test('the one that closes first takes along what the alert did before, and the other one says nothing of it', async () => {
    const one = await escalated()
    await one.look(NOW + 2 * WAIT)
    await one.look(NOW + WAIT + INTERVAL)
    expect(await one.closesAt()).toBeUndefined()
    await expectTakenAlong(one)
  })

  test('what an alert did since is sent in the place of what it did before', async () => {
    const one = relay({ group: { by: ['level'] } })
    await one.commit(anAlert({ id: 'b-1', level: 'critical' }))
    await one.look(NOW)
    await one.commit(anAlert({ id: 'b-2', level: 'warning', reason: 'eased' }))
    await one.look(NOW + 1)
    await one.look(NOW + WAIT)
    await one.look(NOW + WAIT + INTERVAL)
    const told = (await one.deliveries()).flatMap(({ message }) => message.data.alerts)
    expect(told).toMatchObject([{ id: 'b-2', supersedes: ['b-1'], reason: 'entered' }])
  })
})

describe('the digest of first readings', () => {
  test('is one message per receiver, whatever the rules', async () => {
    const one = relay({ routes: [{ to: ['a', 'b'] }] })
    await one.first(anAlert({ rule: 'x' }))
    await one.first(anAlert({ rule: 'y', level: 'critical' }))
    await one.pass(NOW, anAlert({ rule: 'z' }))
    const made = await one.deliveries()
    expect(made.map(({ receiver, message }) => [receiver, message.type, message.data.groupKey]).sort()).toEqual([
      ['a', 'alert.digest', 'digest'],
      ['a', 'alert.firing', 'rule=z'],
      ['b', 'alert.digest', 'digest'],
      ['b', 'alert.firing', 'rule=z'],
    ])
    const digest = made.find(({ message }) => message.type === 'alert.digest')
    expect(digest?.message.data.alerts.map(({ level }) => level)).toEqual(['critical', 'warning'])
  })

  test('waits while accounts are still being connected, but not for ever', async () => {
    const one = relay()
    await one.first()
    await one.look(NOW)
    await redis.store.hset(one.keys.fleet, 'connectedAt', NOW + 25_000)
    await one.look(NOW + WAIT)
    expect(await one.closesAt()).toBe(NOW + 25_000 + WAIT)
    expect(await one.deliveries()).toEqual([])
    await redis.store.hset(one.keys.fleet, 'connectedAt', NOW + INTERVAL)
    await one.look(NOW + 25_000 + WAIT)
    expect(await one.closesAt()).toBe(NOW + INTERVAL)
    await one.look(NOW + INTERVAL)
    expect(await one.deliveries()).toHaveLength(1)
  })

  test('waits while imported accounts are still to be read, but not for ever', async () => {
    const one = relay()
    await one.first()
    await one.look(NOW)
    const { firstReadings } = one.keys
    await redis.store.zadd(firstReadings, 0, 7, 1, 71)
    await one.look(NOW + WAIT)
    expect(await one.closesAt()).toBe(NOW + 2 * WAIT)
    expect(await one.deliveries()).toEqual([])
    await redis.store.zadd(firstReadings, 0, 71)
    await one.look(NOW + 2 * WAIT)
    expect(await one.deliveries()).toHaveLength(1)
  })

  test('says nothing of an alert that did more since: that is told once, as it stands, and before or in place of it', async () => {
    const one = relay()
    await one.first(anAlert({ id: 'over-1' }))
    await one.first(anAlert({ id: 'worse-1' }))
    await one.first(anAlert({ id: 'still-1' }))
    await one.look(NOW)
    await one.commit(anAlert({ id: 'over-2', status: 'resolved', reason: 'recovered' }))
    await one.commit(anAlert({ id: 'worse-2', level: 'critical', reason: 'escalated' }))
    await redis.store.hset(one.keys.fleet, 'connectedAt', NOW + WAIT)
    await one.look(NOW)
    await one.look(NOW + WAIT)
    await one.look(NOW + 2 * WAIT)
    const told = (await one.deliveries()).flatMap(({ message: { type, data } }) =>
      data.alerts.map(({ id, supersedes }) => [type, id, supersedes]),
    )
    expect(told.toSorted()).toEqual([
      ['alert.digest', 'still-1', undefined],
      ['alert.firing', 'worse-2', ['worse-1']],
      ['alert.resolved', 'over-2', ['over-1']],
    ])
  })
})

/** As the sweep of the receivers commits it. */
async function commitNews(keys: Keys, receiver: string): Promise<void> {
  const announce = deliveryAnnouncer({ repeatEveryMs: 1_000, page: 'https://plimsoll.example.com/deliveries' })
  const message = `The receiver ${receiver} is disabled (410 Gone).`
  const writes = announce(receiver, '', { is: 'firing', level: 'critical', message }, NOW)
  await redis.store.changeAlerts(keys.own(NO_ACCOUNT), NO_ACCOUNT, stepJson(writes))
}

describe('an alert about a receiver', () => {
  const off = async (one: ReturnType<typeof relay>, receiver: string) => {
    await commitNews(one.keys, receiver)
    await one.look(NOW)
    await one.look(NOW + WAIT)
    return one.deliveries()
  }

  test('goes to the others that its route names, not to the one that would not get it', async () => {
    const made = await off(
      relay({ routes: [{ match: { kind: ['delivery'] }, to: ['ops-hook', 'ops-mail'] }] }),
      'ops-hook',
    )
    expect(made).toMatchObject([
      {
        receiver: 'ops-mail',
        message: {
          type: 'alert.firing',
          data: {
            alerts: [{ kind: 'delivery', level: 'critical', message: expect.stringMatching(/ops-hook.*410 Gone/) }],
          },
        },
      },
    ])
    expect(made[0]?.message.data.alerts[0]).not.toHaveProperty('account')
  })

  test('goes to all others where its route names nobody else', async () => {
    const made = await off(relay({ routes: [{ to: ['ops-hook'] }] }), 'ops-hook')
    expect(made.map(({ receiver }) => receiver).sort()).toEqual(['ops-mail', 'pager'])
  })

  test('goes to nobody where there is no other', async () => {
    expect(await off(relay({ receivers: ['ops-mail'] }), 'ops-mail')).toEqual([])
  })
})
