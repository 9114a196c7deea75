import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { spawnDaemon } from '../../support/daemon.ts'
import { connectAccount, eventually, hubIdsOf, journalOf, mailsOf } from '../../support/fleet.ts'
import { at } from '../../support/look-into.ts'
import { sceneFor } from '../../support/scene.ts'
import { type FleetAtWork, fleetAtWork, isReady, readiness } from './fleet-at-work.ts'

describe('Redis refuses', () => {
  /** How long Redis refuses: long enough for refreshes to come due in it. */
  const REFUSES_MS = 7_000

  const BUSY_MS = 5_000

  /** Redis refuses writes, for the first time while an answer of the provider is on its way. */
  async function whileWritesAreRefused(
    fleet: FleetAtWork,
    refuse: () => Promise<unknown>,
    allow: () => Promise<unknown>,
  ) {
    const { scene, daemon, hubIds, addFault, faultMet } = fleet
    const [hubId = 0] = hubIds
    await addFault({ endpoint: 'token', hubId, after: true, delayMs: 2_500, times: 1 })
    await faultMet(hubId)
    await refuse()
    const since = Date.now()
    const seen = await eventually('not ready', async () => {
      const found = await readiness(daemon)
      return found.status === 503 && found
    })
    // The fault itself.
    await pause(REFUSES_MS)
    // The one whose answer was on its way had been asked for before.
    const during = (await journalOf(scene.sandbox.url)).filter(
      (entry) => at(entry) > since + 500 && entry.hubId !== hubId,
    )
    // The vendor's other services go on; a connection that is just made anew may cost them one more try.
    await eventually('a token', async () => (await fleet.tokenOf(daemon, hubIds.at(-1) as number)).status === 200)
    await allow()
    const allowedAt = Date.now()
    await isReady(daemon)
    await fleet.worksSince(allowedAt)
    return { seen, during }
  }

  test.concurrent('Redis without memory left (noeviction): nothing is redeemed that could not be stored, /readyz says why, and nobody expires', async (context) => {
    const fleet = await fleetAtWork(context)
    const store = fleet.scene.redis.connect()
    const { seen, during } = await whileWritesAreRefused(
      fleet,
      () => store.config('SET', 'maxmemory', '1'),
      () => store.config('SET', 'maxmemory', '0'),
    )
    expect(seen.failing.redis).toMatch(/^refuses: OOM /)
    expect(during.filter(({ endpoint }) => endpoint === 'token')).toEqual([])
    await fleet.expectUnhurt()
    expect(await fleet.told()).toEqual([])
  })

  test.concurrent('Redis made a replica under our hands (READONLY): nothing is redeemed, and it goes on by itself once it is a master again', async (context) => {
    const fleet = await fleetAtWork(context)
    const store = fleet.scene.redis.connect()
    const { seen, during } = await whileWritesAreRefused(
      fleet,
      // Of a master that is not there: it goes on answering with what it has.
      () => store.replicaof('127.0.0.1', 1),
      () => store.replicaof('NO', 'ONE'),
    )
    expect(seen.failing.redis).toMatch(/^refuses: READONLY /)
    expect(during.filter(({ endpoint }) => endpoint === 'token')).toEqual([])
    await fleet.expectUnhurt()
    expect(await fleet.told()).toEqual([])
  })

  test.concurrent('somebody flushes the scripts of Redis again and again: steps are sent anew, and nobody is late', async (context) => {
    const fleet = await fleetAtWork(context)
    const store = fleet.scene.redis.connect()
    const since = Date.now()
    const flushing = setInterval(() => void store.script('FLUSH'), 500)
    context.onTestFinished(() => clearInterval(flushing))
    await fleet.worksSince(since)
    await fleet.expectUnhurt()
  })

  test.concurrent('somebody’s endless script keeps Redis busy: nothing is redeemed meanwhile, and after SCRIPT KILL all goes on', async (context) => {
    const fleet = await fleetAtWork(context)
    const store = fleet.scene.redis.connect()
    await store.config('SET', 'lua-time-limit', '500')
    // By hand: a connection of ours would send it again.
    const stranger = connect(fleet.scene.redis.port, '127.0.0.1')
    stranger.on('error', () => {})
    stranger.write("EVAL 'while true do end' 0\r\n")
    context.onTestFinished(() => void stranger.destroy())
    const seen = await eventually('not ready', async () => {
      const found = await readiness(fleet.daemon)
      return /BUSY/.test(found.failing.redis ?? '') && found
    })
    expect(seen.status).toBe(503)
    const busyAt = Date.now()
    await pause(BUSY_MS)
    expect((await fleet.tokenOf(fleet.daemon, fleet.hubIds[0] as number)).status).toBe(503)
    const during = (await journalOf(fleet.scene.sandbox.url)).filter((entry) => at(entry) > busyAt + 500)
    expect(during.filter(({ endpoint }) => endpoint === 'token')).toEqual([])
    await store.script('KILL')
    await isReady(fleet.daemon)
    await fleet.worksSince(Date.now())
    await fleet.expectUnhurt()
  })
})

describe('Redis loses data', () => {
  test.concurrent('Redis that comes back empty: /readyz answers 503, one alert goes out, and no daemon calls that well', async (context) => {
    const fleet = await fleetAtWork(context)
    const { scene, daemon } = fleet
    const store = scene.redis.connect()
    // What a restart without persistence leaves.
    await store.flushall()
    await daemon.line(/"redis\.emptied"/, 0)
    const { status, failing } = await readiness(daemon)
    expect(status).toBe(503)
    expect(failing.data).toMatch(/^Redis no longer holds the data that this daemon began with/)
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
})
