import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, type TestContext, test } from 'vitest'
import { type Daemon, spawnDaemon } from '../../support/daemon.ts'
import { connectAll, customProperties, eventually, hubIdsOf, journalOf } from '../../support/fleet.ts'
import { at, lookInto } from '../../support/look-into.ts'
import { type Orders, startPreloaded } from '../../support/preloaded-daemon.ts'
import { pauses, sceneFor } from '../../support/scene.ts'
import { makeRoom, openEmbedded, serverOnSmallDisk, startWithEmbedded } from './embedded-redis.ts'
import { EARLY, fleetAtWork, isReady, LIFE_MS, readiness } from './fleet-at-work.ts'
import { startRoughProvider } from './rough-provider.ts'

describe('the clock jumps', () => {
  const HOUR_MS = 3_600_000
  const RULE = 'no account is refreshed more often, none is late; alerts come in time, and none comes twice'

  test.concurrent(`the clock jumps an hour forward, and is set right: ${RULE}`, (context) => jump(context, HOUR_MS))

  test.concurrent(`the clock jumps an hour back, and is set right: ${RULE}`, (context) => jump(context, -HOUR_MS))

  async function jump(context: TestContext, aheadMs: number) {
    const fleet = await fleetWithClock(context)
    const { scene, daemon, hubIds, order } = fleet
    const [hubId = 0] = hubIds
    const setUsage = (usage: number) =>
      fleet.control('PUT', `accounts/${hubId}/custom-properties`, customProperties(usage))
    const toldOfLimits = async () =>
      (await fleet.toldOf(hubId)).filter(({ kind }) => kind === 'limit').map(({ reason }) => reason)
    const areTold = (reasons: string[]) =>
      eventually(`told: ${reasons}`, async () => (await toldOfLimits()).join() === reasons.join())
    await setUsage(900)
    await areTold(['entered'])

    const since = Date.now()
    order({ aheadMs })
    await fleet.worksSince(since)
    await setUsage(960)
    await areTold(['entered', 'escalated'])
    // Long enough for a token to be due by the wrong clock.
    await pause(LIFE_MS * 0.4)

    const backAt = Date.now()
    order({ aheadMs: 0 })
    await fleet.worksSince(backAt)
    await setUsage(100)
    await areTold(['entered', 'escalated', 'recovered'])
    await isReady(daemon)

    const journal = await journalOf(scene.sandbox.url)
    expect(journal.filter(({ status }) => status >= 400)).toEqual([])
    const regular = (Date.now() - since) / (LIFE_MS * 0.2)
    for (const one of hubIds) {
      const refreshes = journal.filter(
        (entry) => entry.hubId === one && entry.endpoint === 'token' && at(entry) > since,
      )
      expect(refreshes.length).toBeLessThanOrEqual(regular + 1)
    }
    expect(pauses(journal, Date.now()).longest).toBeLessThan(LIFE_MS)
    expect(await fleet.statesOf(daemon)).toEqual({ active: hubIds.length })
    expect((await fleet.told()).filter(({ kind }) => kind === 'fleet')).toEqual([])
  }

  async function fleetWithClock(context: TestContext) {
    let order: (orders: Orders) => void = () => {}
    const fleet = await fleetAtWork(context, async (scene) => {
      const preloaded = await startPreloaded(scene, 'clock', EARLY)
      context.onTestFinished(async () => {
        await preloaded.daemon.stop()
      })
      order = preloaded.order
      return preloaded.daemon
    })
    return { ...fleet, order: (orders: Orders) => order(orders) }
  }
})

describe('few descriptors', () => {
  const openFiles = ({ child }: Daemon) => readdirSync(`/proc/${child.pid}/fd`).length

  /** How many files the daemon may have open from now on; what is open stays open. */
  function allow({ child }: Daemon, files: number): void {
    execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${files}:`])
  }

  /** Over a connection of its own, as a probe comes. */
  function probe({ url }: Daemon): Promise<number | string | undefined> {
    return new Promise((resolve) => {
      const request = get(`${url}/healthz`, { agent: new Agent({ keepAlive: false }), timeout: 5_000 }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      request.on('timeout', () => request.destroy(new Error('timeout')))
      request.on('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    })
  }

  test('a daemon that may open no more files lives, says so, keeps the config it has, blames no account, and makes up for it once it may', async (context) => {
    const scene = await sceneFor(context, { accounts: 10, tokenLifetimeMs: 24_000, rotateRefreshTokens: false })
    const rough = await startRoughProvider(scene.sandbox.url)
    context.onTestFinished(() => rough.stop())
    const daemon = await scene.daemon({
      provider: { baseUrl: rough.url },
      tokens: { refreshFrom: '30%', refreshBy: '50%' },
      limits: { every: '2s' },
    })
    const { statesOf, refreshedSince } = lookInto(() => scene)
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(daemon.url, hubIds)
    await refreshedSince(hubIds, 0)

    allow(daemon, 20)
    const since = daemon.lines.length
    const said = (pattern: RegExp) => daemon.line(pattern, since)
    // What is connected goes on; it is the next connection that fails.
    rough.hangUp()
    await said(/"files\.full".*EMFILE/)
    await said(/"(?:poll|token)\.transient".*may open no more files/)
    expect(await probe(daemon)).not.toBe(200)
    daemon.child.kill('SIGHUP')
    await said(/"config\.refused"/)
    expect(openFiles(daemon)).toBeGreaterThan(20)

    allow(daemon, 4_096)
    await said(/"files\.room"/)
    const room = Date.now()
    expect(await probe(daemon)).toBe(200)
    await refreshedSince(hubIds, room)
    await eventually('all well', async () => (await statesOf(daemon)).active === hubIds.length)
    daemon.child.kill('SIGHUP')
    await said(/"config\.reloaded"/)
    expect(daemon.lines.filter((line) => /"token\.(?:reauthorize|expired)"/.test(line))).toEqual([])
  })
})

describe('the disk is full', () => {
  const DISK_BYTES = 4_000_000
  const FULL_MS = 5_000

  test.concurrent('the disk of the embedded Redis is full (MISCONF): nothing is redeemed that could not be stored, and it goes on once there is room', async (context) => {
    const fleet = await fleetAtWork(context, (scene) =>
      startWithEmbedded(context, scene, { REDIS_SERVER_BIN: serverOnSmallDisk(scene, DISK_BYTES) }),
    )
    const { redis, pid } = await openEmbedded(context, fleet.scene)
    const seen = await eventually('not ready', async () => {
      // It says so with the next write to its file, a second later.
      await redis.set('filler', 'x'.repeat(1_000_000)).catch(() => undefined)
      const found = await readiness(fleet.daemon)
      return found.status === 503 && found
    })
    expect(seen.failing.redis).toMatch(/^refuses: MISCONF /)
    const fullAt = Date.now()
    await pause(FULL_MS)
    const during = (await journalOf(fleet.scene.sandbox.url)).filter((entry) => at(entry) > fullAt + 500)
    expect(during.filter(({ endpoint }) => endpoint === 'token')).toEqual([])
    await makeRoom(pid)
    await isReady(fleet.daemon)
    await fleet.worksSince(Date.now())
    await fleet.expectUnhurt()
  })

  test.concurrent('the disk of log.file is full: the daemon says so once on its error output, and works on', async (context) => {
    const scene = await sceneFor(context, { accounts: 3, tokenLifetimeMs: 10_000 })
    const file = await scene.configFile({ log: { file: '/dev/full' } })
    const daemon = spawnDaemon(file)
    context.onTestFinished(async () => {
      expect(await daemon.stop()).toBe(0)
    })
    const url = `http://127.0.0.1:${/plimsoll-(\d+)\.yaml$/.exec(file)?.[1]}`
    const isThere = async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200
    await eventually('ready', isThere)
    const hubIds = await hubIdsOf(scene.sandbox.url)
    await connectAll(url, hubIds)
    await eventually('refreshes', async () => {
      const refreshed = (await journalOf(scene.sandbox.url)).filter(({ grant }) => grant === 'refresh_token')
      return new Set(refreshed.map(({ hubId }) => hubId)).size === hubIds.length
    })
    expect(daemon.lines.filter((line) => line.includes('the log file takes nothing'))).toHaveLength(1)
  })
})
