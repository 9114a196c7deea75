import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { plimsollHere } from '../support/command.ts'
import { connectAll, eventually, hooksOf, hubIdsOf, journalOf, send } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

let scene: Scene
beforeAll(async () => {
  scene = await openScene({ accounts: 10 })
})
afterAll(() => scene.close())

test('each answered call of every daemon counts, and too many that failed are one alert about the app', async () => {
  const settings = { provider: { failedCalls: { warning: '3%', critical: '5%' } } }
  const first = await scene.daemon(settings)
  const before = { calls: 1_000, failed: 10 }
  // The share counts only where there is a whole day of calls.
  const daysAgo = Math.floor(Date.now() / 86_400_000) - 2
  const counts = Object.entries(before).map(([name, count]) => [`${daysAgo}:${name}`, count] as const)
  await scene.redis.connect().hset(createKeys('plimsoll').dayCounts, Object.fromEntries(counts))

  await connectAll(first.url, await hubIdsOf(scene.sandbox.url))
  await send(`${scene.sandbox.url}/sandbox/faults`, 'POST', {
    endpoint: 'customProperties',
    status: 500,
    times: 10_000,
  })
  await eventually('calls that fail', async () => {
    const journal = await journalOf(scene.sandbox.url)
    return journal.filter(({ status }) => status >= 400).length >= 60
  })
  expect(await first.stop()).toBe(0)
  // The page on which customers approve is visited by them.
  const calls = (await journalOf(scene.sandbox.url)).filter(({ endpoint }) => endpoint !== 'authorize')
  const answered = calls.filter(({ status }) => status > 0)
  const failed = answered.filter(({ status }) => status >= 400)
  const config = await scene.configFile(settings)
  const { out } = await plimsollHere(['status', '--json', '--config', config], scene.folder)
  expect(JSON.parse(out).failedCalls).toMatchObject({
    calls: before.calls + answered.length,
    failed: before.failed + failed.length,
    limit: 0.05,
  })
  const text = await plimsollHere(['status', '--config', config], scene.folder)
  expect(text.out).toMatch(/^failed calls +\d(\.\d)? % of 1,\d{3} calls failed in 30 days \(HubSpot allows 5 %\)$/m)

  await scene.daemon(settings)
  await eventually('the alert', async () => {
    const alerts = (await hooksOf(scene.sandbox.url)).flatMap(({ body }) => body.data.alerts)
    return alerts.find(
      ({ kind, message = '' }) => kind === 'fleet' && / of 1,\d{3} calls failed in 30 days/.test(message),
    )
  })
})
