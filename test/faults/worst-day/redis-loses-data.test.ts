import { expect, test } from 'vitest'
import { spawnDaemon } from '../../support/daemon.ts'
import { connectAccount, eventually, hubIdsOf, journalOf, mailsOf } from '../../support/fleet.ts'
import { sceneFor } from '../../support/scene.ts'
import { fleetAtWork, isReady, readiness } from './fleet-at-work.ts'

test.concurrent('Redis that comes back empty: /readyz answers 503, one alert goes out, and no daemon calls that well', async (context) => {
  const fleet = await fleetAtWork(context)
  const { scene, daemon } = fleet
  const store = scene.redis.connect()
  // What a restart without persistence leaves.
  await store.flushall()
  await daemon.line(/"redis\.emptied"/, 0)
  const { status, failing } = await readiness(daemon)
  expect(status).toBe(503)
  expect(failing.data).toMatch(/^Redis no longer holds what this daemon began with/)
  const told = await eventually('the alert', async () => {
    const alerts = await fleet.told()
    return alerts.length > 0 && alerts
  })
  expect(told).toMatchObject([{ kind: 'fleet', status: 'firing', level: 'critical' }])
  expect(told[0]?.message).toMatch(/Restore the backup, then restart the daemons\.$/)
  await eventually('the mail', async () => (await mailsOf(scene.sandbox.url)).length === 1)
  // Alive: a restart would take what is there for right, and that is for somebody to decide.
  expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200)

  await daemon.stop()
  const next = await scene.daemon()
  await isReady(next)
  await eventually('its end', async () => (await fleet.told()).at(-1)?.reason === 'recovered')
  const [hubId = 0] = fleet.hubIds
  expect((await connectAccount(next.url, hubId)).status).toBe(200)
  // A rotated token that came just after the loss has no account any more, and is deleted at the provider.
  const { uninstalling: _, uninstalled: __, ...kept } = await fleet.statesOf(next)
  expect(kept).toEqual({ active: 1 })
})

test.concurrent('Redis that may evict and keeps nothing on disk: said at the start; keys that it throws away are an alert', async (context) => {
  const scene = await sceneFor(context, { accounts: 1, rotateRefreshTokens: false })
  const store = scene.redis.connect()
  await store.config('SET', 'maxmemory-policy', 'allkeys-random')
  await store.config('SET', 'appendonly', 'no')
  const daemon = await scene.daemon()
  expect(await daemon.line(/"redis\.unsafe".*"redis\.eviction"/, 0)).toContain('maxmemory-policy noeviction')
  expect(await daemon.line(/"redis\.unsafe".*"redis\.persistence"/, 0)).toContain('append-only file')
  await connectAccount(daemon.url, (await hubIdsOf(scene.sandbox.url))[0] as number)

  await store.mset(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`others:${n}`, 'x'.repeat(1_000)])))
  const [, used = ''] = /used_memory:(\d+)/.exec(await store.info('memory')) ?? []
  await store.config('SET', 'maxmemory', String(Number(used) - 200_000))
  await store.set('one more', 'x')
  await daemon.line(/"redis\.(evicts|emptied)"/, 0)
  expect((await readiness(daemon)).failing.data).toBeDefined()
})

test.concurrent('Redis that still loads its file: a daemon waits for it, and nothing is lost', async (context) => {
  const fleet = await fleetAtWork(context)
  const { scene, daemon } = fleet
  const store = scene.redis.connect()
  // Each key takes a while to load, so that LOADING is the answer for two seconds.
  await store.eval("for n = 1, 4000 do redis.call('SET', 'filler:' .. n, n) end", 0)
  await scene.redis.end('SIGKILL')
  const cold = spawnDaemon(await scene.configFile())
  context.onTestFinished(async () => {
    await cold.stop()
  })
  await scene.redis.again(['--key-load-delay', '500'])
  const back = Date.now()
  await cold.line(/"daemon\.started"/, 0)
  await isReady(daemon)
  await fleet.worksSince(back)
  await fleet.expectUnhurt([daemon])
  expect((await journalOf(scene.sandbox.url)).filter(({ status }) => status >= 400)).toEqual([])
})
