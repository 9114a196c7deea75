import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { customProperties, eventually, hooksOf, journalOf, send } from '../support/fleet.ts'
import { say } from '../support/say.ts'
import { refreshTimes } from '../support/scene.ts'
import { allRefreshedSince, statesOf, whatProviderSaw } from './open-fleet.ts'
import { openSentinelFleet, type SentinelFleet } from './open-sentinel-fleet.ts'

describe('failover', () => {
  const ACCOUNTS = 120
  const LIFE_MS = 15_000
  /** How long nothing may be refreshed at all: the sentinels need some two seconds to be sure of a death. */
  const PAUSE_MS = 8_000

  let scene: SentinelFleet

  beforeAll(async () => {
    scene = await openSentinelFleet({ accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: false })
  })
  afterAll(() => scene?.close())

  /** How long it took from a moment until jobs moved again: polls, of which one comes every 2 s from each account. */
  async function pauseSince(since: number): Promise<number> {
    const moved = await eventually('work that goes on', async () =>
      (await journalOf(scene.fleet.sandbox.url)).find(
        ({ time, endpoint }) => endpoint === 'customProperties' && Date.parse(time) > since,
      ),
    )
    return Date.parse(moved.time) - since
  }

  async function expectAllKept(): Promise<void> {
    expect(await statesOf(scene.daemon.url)).toEqual({ active: ACCOUNTS })
    expect(await whatProviderSaw(scene.fleet.sandbox)).toMatchObject({ refused: [], expired: 0 })
    const health = await fetch(`${scene.daemon.url}/healthz`)
    expect({ status: health.status, says: health.ok ? '' : await health.text() }).toEqual({ status: 200, says: '' })
  }

  test('a failover that is asked for while refreshes are under way loses no account, and no token expires', async () => {
    const old = await scene.sentinels.master()
    await scene.sentinels.failOver()
    const switchedAt = Date.now()
    const paused = await pauseSince(switchedAt)
    await allRefreshedSince(scene.fleet, scene.hubIds, switchedAt)
    say(`failover asked for: work went on ${(paused / 1_000).toFixed(1)} s after the switch`)
    expect(paused).toBeLessThan(PAUSE_MS)
    await expectAllKept()
    await scene.sentinels.follows(old)
  })

  test('after one more BullMQ’s workers go on, none of them waits on a connection that is gone', async () => {
    const old = await scene.sentinels.master()
    await scene.sentinels.failOver()
    expect(await pauseSince(Date.now())).toBeLessThan(PAUSE_MS)
    await scene.sentinels.follows(old)
    // The queue of deliveries, which had nothing to do all the while.
    const hubId = scene.hubIds[0] as number
    await send(`${scene.fleet.sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(960))
    // A worker that waits on a connection which is gone notices after 13 s.
    await eventually(
      'a webhook',
      async () =>
        (await hooksOf(scene.fleet.sandbox.url)).some(({ body }) => body.data.alerts[0]?.account?.hubId === hubId),
      60_000,
    )
    await expectAllKept()
  })

  test('a master that is killed is replaced by the replica, and everything goes on by itself', async () => {
    const old = await scene.sentinels.master()
    await old.end('SIGKILL')
    const killedAt = Date.now()
    await scene.sentinels.switchedFrom(old)
    const switchedAt = Date.now()
    const paused = await pauseSince(switchedAt)
    await allRefreshedSince(scene.fleet, scene.hubIds, switchedAt)
    say(
      `master killed: the sentinels needed ${((switchedAt - killedAt) / 1_000).toFixed(1)} s, ` +
        `work went on ${(paused / 1_000).toFixed(1)} s later`,
    )
    expect(paused).toBeLessThan(PAUSE_MS)
    await expectAllKept()
  })
})

describe('writes that a replica never had', () => {
  const ACCOUNTS = 60
  const LIFE_MS = 20_000

  let scene: SentinelFleet

  beforeAll(async () => {
    scene = await openSentinelFleet({ accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: true })
  })
  afterAll(() => scene?.close())

  async function refreshedSince(since: number): Promise<Set<number>> {
    const times = refreshTimes(await journalOf(scene.fleet.sandbox.url))
    return new Set(scene.hubIds.filter((hubId) => times.get(hubId)?.some((at) => at > since)))
  }

  test('a master dies with rotated tokens that its replica never had: the daemon that has them stores them again', async () => {
    const [master, replica] = [await scene.sentinels.master(), await scene.sentinels.replica()]
    await allRefreshedSince(scene.fleet, scene.hubIds, Date.now())
    await replica.end('SIGKILL')
    const cutOffAt = Date.now()
    await eventually(
      'some that are refreshed on the master alone',
      async () => (await refreshedSince(cutOffAt)).size >= 5,
    )
    await master.end('SIGKILL')
    const atRisk = await refreshedSince(cutOffAt)
    await replica.again()
    await scene.sentinels.switchedFrom(master)
    const switchedAt = Date.now()

    await allRefreshedSince(scene.fleet, scene.hubIds, switchedAt)
    say(`${atRisk.size} accounts were refreshed on a master alone that died: none must be connected again`)
    // A refresh that comes before them is refused, and made good.
    await eventually('all active', async () => (await statesOf(scene.daemon.url)).active === ACCOUNTS)
  })
})
