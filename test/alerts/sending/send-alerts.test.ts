import { describe, expect, test } from 'vitest'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { deliveryAnnouncer } from '../../../src/alerts/kinds/delivery-alert.ts'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import type { Keys } from '../../../src/redis/keys.ts'
import { NO_ACCOUNT, stepJson } from '../../../src/redis/steps.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { pendingIds } from '../../support/take-due.ts'
import { aRelay, INTERVAL, NOW, overtakenAt, WAIT } from '../a-relay.ts'
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
})

describe('a group', () => {
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

describe('the digest of first readings', () => {
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
