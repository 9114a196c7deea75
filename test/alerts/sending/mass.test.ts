import { expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import type { AlertsDeps } from '../../../src/alerts/deps.ts'
import { sendAlerts } from '../../../src/alerts/sending/send-alerts.ts'
import { readNotifications } from '../../../src/views/notifications.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { aRelay, INTERVAL, idsOf, NOW, WAIT } from '../a-relay.ts'
import { anAlert } from '../an-alert.ts'

const redis = redisOfFile()
const relay = (by: AlertsDeps['group']['by'] = ['account']) => aRelay(redis.store, redis.freshKeys(), { group: { by } })

function of(hubId: number, more: Partial<Alert> = {}) {
  return { alert: anAlert({ id: `${hubId}-1`, account: { hubId, hubDomain: '' }, ...more }) }
}

/** The group and the ids of each message, the oldest first. */
async function sent(one: ReturnType<typeof relay>) {
  return (await one.pending())
    .toSorted((a, b) => Date.parse(a.message.timestamp) - Date.parse(b.message.timestamp))
    .map(({ message }) => [message.data.groupKey, idsOf(message).toSorted()])
}

/** Five accounts crossed, and their one message is on its way. */
async function sentMass() {
  const one = relay()
  await one.pass(NOW, ...[1, 2, 3, 4, 5].map((n) => of(n)))
  return one
}

test('what an account is notified of names where its alert waits: the group of the mass', async () => {
  const one = relay()
  await one.commit(...[1, 2, 3, 4, 5].map((n) => of(n)))
  await one.look(NOW)
  const { store, keys, deliveries } = one
  const [found] = await readNotifications({ store, keys, deliveries }, 1)
  expect(found).toMatchObject({
    fate: 'pending',
    waiting: [{ receiver: 'mail', where: 'group', until: new Date(NOW + WAIT).toISOString() }],
  })
})

test('a mass is not asked for in Redis one by one', async () => {
  const one = relay()
  const hubIds = Array.from({ length: 200 }, (_, n) => n + 1)
  await one.pass(NOW, ...hubIds.map((n) => of(n)))
  await one.commit(...hubIds.map((n) => of(n, { id: `${n}-2`, status: 'resolved', reason: 'recovered' })))
  await one.look(NOW + 2 * WAIT)
  let asked = 0
  const store = new Proxy(redis.store, {
    get: (real, name) => {
      const value = Reflect.get(real, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        asked++
        return value.apply(real, args)
      }
    },
  })
  await sendAlerts({ ...one.deps, store }, NOW + WAIT + INTERVAL)
  expect((await sent(one)).at(-1)).toEqual(['rule=customProperties.overall', hubIds.map((n) => `${n}-2`).sort()])
  expect(asked).toBeLessThan(30)
})

test('what waits under a name that its rule had is not sent after what is newer', async () => {
  const one = await sentMass()
  await one.commit(of(6))
  await one.look(NOW + 2 * WAIT)
  // SIGHUP renamed the rule.
  await one.commit(of(6, { id: '6-2', level: 'critical', reason: 'escalated', rule: 'renamed' }))
  await one.look(NOW + 3 * WAIT)
  await one.look(NOW + 4 * WAIT)
  expect((await sent(one)).at(-1)).toEqual(['account=6', ['6-2']])
  await one.look(NOW + 2 * INTERVAL)
  expect(await sent(one)).toHaveLength(2)
  await one.expectBalance({ waiting: 0, deliveries: 2 })
})
