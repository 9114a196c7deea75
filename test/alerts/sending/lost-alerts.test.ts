import { expect, test } from 'vitest'
import { alertId, encodeState, openedState, transitionOf } from '../../../src/alerts/alert-state.ts'
import { endLostAlerts } from '../../../src/alerts/sending/end-lost-alerts.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, INTERVAL, NOW, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
const HUB = 123
const FIELD = 'customProperties.overall'

/** An alert that `mail` was sent, with its account's state. */
async function sentAlert(more: Parameters<typeof aRelay>[2] = {}) {
  const one = aRelay(redis.store, redis.freshKeys(), more)
  const { alerts } = one.keys.account(HUB)
  const state = openedState('warning', FIELD, NOW)
  const url = 'https://plimsoll.example.com/accounts/123'
  const account = { hubId: HUB, hubDomain: 'acme.example.com' }
  const alert = transitionOf(account, FIELD, state, { level: 'warning', reason: 'entered', at: NOW, url })
  await redis.store.hset(alerts, FIELD, encodeState(state))
  await one.pass(NOW, { alert })
  await one.record('delivered', NOW + WAIT)
  const later = async () => {
    const ended = await endLostAlerts(one.deps, NOW + INTERVAL)
    await one.look(NOW + INTERVAL)
    await one.look(NOW + 2 * INTERVAL)
    return ended
  }
  return { one, alerts, id: alertId(HUB, FIELD, state.since), later }
}

test.each([
  ['is gone', (alerts: string) => redis.store.del(alerts)],
  ['can not be read', (alerts: string) => redis.store.hset(alerts, FIELD, '["warning"')],
  [
    'is of another alert by now',
    (alerts: string) => redis.store.hset(alerts, FIELD, encodeState(openedState('warning', FIELD, NOW + 1))),
  ],
])(
  'an alert whose state %s is ended for the receivers that were sent it, once, with its own reason',
  async (_, lose) => {
    const { one, alerts, id, later } = await sentAlert()
    await lose(alerts)
    expect(await later()).toBe(1)
    const ends = async () => (await one.pending()).flatMap(({ message }) => message.data.alerts)
    expect(await ends()).toMatchObject([{ id: `${id}-2`, status: 'resolved', reason: 'lost' }])
    expect(await later()).toBe(0)
    expect(await ends()).toHaveLength(1)
  },
)

test('one that is open, or whose end waits in its group, is not', async () => {
  const { one, alerts, id, later } = await sentAlert()
  expect(await endLostAlerts(one.deps, NOW + INTERVAL)).toBe(0)
  const [sent] = (await one.deliveries.heads()).flatMap(({ carried }) => carried)
  expect(sent).toBe(`${id}-1`)
  await redis.store.del(alerts)
  const [open] = await redis.store.xrevrange(one.keys.transitions, '+', '-', 'COUNT', 1)
  const { alert } = JSON.parse(open?.[1][1] ?? '{}')
  await one.commit({ alert: { ...alert, id: `${id}-2`, status: 'resolved', reason: 'recovered' } })
  expect(await endLostAlerts(one.deps, NOW + INTERVAL)).toBe(0)
  await one.look(NOW + WAIT + 1)
  expect(await later()).toBe(0)
  expect((await one.told()).filter((told) => told.startsWith(id))).toEqual([`${id}-2`])
})

test('what cannot be written for one account keeps the alerts of no other from their end', async () => {
  const { one, alerts, id } = await sentAlert()
  const hubIds = [1, 2, 3, 4, 5, 6]
  const others = hubIds.map((hubId) => ({ alert: anAlert({ account: { hubId, hubDomain: '' } }) }))
  await one.pass(NOW + INTERVAL, ...others)
  for (const hubId of hubIds) await redis.store.set(one.keys.account(hubId).transitions, 'no list')
  await redis.store.del(alerts)
  await expect(endLostAlerts(one.deps, NOW + 2 * INTERVAL)).rejects.toThrow('WRONGTYPE')
  expect(await redis.store.zrange(one.keys.unsent, 0, '-1')).toContain(id)
})

test('two daemons that look at once end it once', async () => {
  const { one, alerts } = await sentAlert()
  await redis.store.del(alerts)
  const ended = await Promise.all([0, 1].map(() => endLostAlerts(one.deps, NOW + INTERVAL)))
  expect(ended.sort()).toEqual([0, 1])
  expect(await redis.store.xlen(one.keys.transitions)).toBe(2)
})

test('a customer is not told that what was lost is over', async () => {
  const { one, alerts, later } = await sentAlert({ group: { contacts: ['mail'] } })
  await redis.store.hset(one.keys.account(HUB).account, 'contact', 'ada@acme.example.com')
  await redis.store.del(alerts)
  await later()
  expect(await one.told()).toEqual([])
})
