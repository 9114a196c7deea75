import { describe, expect, test } from 'vitest'
import type { Alert } from '../../src/alerts/alert.ts'
import { encodeState, openedState } from '../../src/alerts/alert-state.ts'
import { receiversOf, routeOf, routeTo } from '../../src/alerts/route.ts'
import { recheckWaiting } from '../../src/alerts/sending/read-due.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { redisOfFile } from '../support/of-file.ts'
import { aRelay, INTERVAL, NOW, WAIT } from './a-relay.ts'
import { anAlert } from './an-alert.ts'

const redis = redisOfFile()
const OWNER = 'account-owner'
const ROUTES = [{ to: [OWNER], contacts: [OWNER], match: {} }, { to: ['ops'] }]

const of = (hubId: number, more: Partial<Alert> = {}) =>
  anAlert({ account: { hubId, hubDomain: `n${hubId}.example.com` }, ...more })

/** Accounts 1 to 9 have contacts, others have none. */
async function world() {
  const keys = redis.freshKeys()
  const relay = aRelay(redis.store, keys, {
    routes: ROUTES,
    receivers: [OWNER, 'ops'],
    group: { by: ['account'], contacts: [OWNER] },
  })
  for (let hubId = 1; hubId < 10; hubId++)
    await redis.store.hset(keys.account(hubId).account, 'contact', `c@n${hubId}.example.com`)
  /** Committed, collected, and closed. */
  const pass = async (...alerts: Alert[]) => {
    for (const alert of alerts) await relay.commit({ alert })
    await relay.look(NOW)
    await relay.look(NOW + WAIT)
    return sent()
  }
  /** hubIds of each message, by receiver. */
  const sent = async () => {
    const all = (await relay.pending()).map(({ receiver, message }) => [
      receiver,
      message.data.alerts.map(({ account }) => account?.hubId ?? NO_ACCOUNT),
    ])
    return all.toSorted()
  }
  return { ...relay, pass, sent }
}

describe('a route to contacts', () => {
  test('takes alerts of accounts that have one, the next route the others', async () => {
    const { pass } = await world()
    expect(await pass(of(1), of(20), anAlert({ account: undefined as never, kind: 'fleet' }))).toEqual([
      [OWNER, [1]],
      ['ops', [0]],
      ['ops', [20]],
    ])
  })

  test('sends each account a message of its own, also where many have the same trouble at once', async () => {
    const { pass } = await world()
    const many = [1, 2, 3, 4, 5, 6].map((hubId) => of(hubId))
    expect(await pass(...many)).toEqual([1, 2, 3, 4, 5, 6].map((hubId) => [OWNER, [hubId]]))
    const others = [21, 22, 23, 24, 25].map((hubId) => of(hubId))
    expect((await pass(...others)).filter(([receiver]) => receiver === 'ops')).toEqual([['ops', [21, 22, 23, 24, 25]]])
  })

  test('leaves first readings, and what only operators can act on, to the next route', async () => {
    const { commit, look, sent } = await world()
    await commit({ alert: of(1), firstReading: true })
    await commit({ alert: of(2, { kind: 'token', rule: 'token', level: 'critical', cause: 'foreign' }) })
    await commit({ alert: of(3, { kind: 'token', rule: 'uninstall' }) })
    await look(NOW)
    await look(NOW + WAIT)
    expect(await sent()).toEqual([1, 2, 3].map((hubId) => ['ops', [hubId]]))
  })

  test('sends an end to who was sent the beginning, though the contact was removed meanwhile', async () => {
    const { pass, record, look, sent, store, keys } = await world()
    const alert = of(1, { id: 'a-1' })
    await pass(alert)
    await record('delivered', NOW + WAIT)
    await look(NOW + WAIT + 60_000)
    await store.hdel(keys.account(1).account, 'contact')
    await pass({ ...alert, id: 'a-2', status: 'resolved', reason: 'recovered' })
    await look(NOW + WAIT + INTERVAL)
    expect(await sent()).toEqual([[OWNER, [1]]])
  })

  test('gets nothing while no tokens of any account can be refreshed', async () => {
    const { pass, store, keys, sent, look } = await world()
    const { alerts } = keys.account(NO_ACCOUNT)
    await store.hset(alerts, 'token-endpoint', encodeState(openedState('critical', 'fleet', NOW)))
    const lost = { kind: 'token', rule: 'token', level: 'critical' } as const
    expect(await pass(of(1, lost), of(2), of(20, lost))).toEqual([['ops', [20]]])
    await store.del(alerts)
    await recheckWaiting({ store, keys })
    await look(NOW + 60_000)
    await look(NOW + 120_000)
    expect(await sent()).toContainEqual([OWNER, [1]])
    expect(await sent()).toContainEqual([OWNER, [2]])
  })
})

test('an account without a contact falls to the next route, and beside others a contact is left out', () => {
  const mixed = { to: [OWNER, 'ops'], contacts: [OWNER], match: { kind: ['token'] as const } }
  const routes = [mixed, ...ROUTES]
  const token = of(1, { kind: 'token' })
  expect(receiversOf(routes, token, true)).toEqual([OWNER, 'ops'])
  expect(receiversOf(routes, token)).toEqual(['ops'])
  expect(routeOf(routes, of(1), true)).toBe(ROUTES[0])
  expect(routeOf(routes, of(1))).toBe(ROUTES[1])
  expect([OWNER, 'ops'].map((receiver) => routeTo(routes, of(1), receiver))).toEqual(ROUTES)
})
