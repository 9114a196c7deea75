import { afterAll, beforeAll, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { aRelay, DAY, INTERVAL, WAIT } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { eventually, hooksOf } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await openScene({ accounts: 0 })
})
afterAll(() => scene.close())

test('what an earlier config held back until tomorrow is told when the daemon starts without that config', async () => {
  const one = aRelay(scene.redis.connect(), createKeys('plimsoll'), { routes: [{ to: ['ops-hook'] }] })
  const now = Date.now()
  one.silence(now + DAY)
  await one.commit({ alert: anAlert({ id: 'aaaa-1' }) })
  await one.collect(now - WAIT - INTERVAL)
  await one.close(now)
  await one.expectBalance({ where: { outbox: 0, groups: 0, held: 1, deliveries: 0 } })
  await scene.daemon()
  await eventually('the alert is told', async () => {
    const told = (await hooksOf(scene.sandbox.url)).flatMap(({ body }) => body.data.alerts.map(({ id }) => id))
    return told.includes('aaaa-1')
  })
})
