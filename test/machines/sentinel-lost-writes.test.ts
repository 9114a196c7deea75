import { afterAll, beforeAll, test } from 'vitest'
import { eventually, journalOf } from '../support/fleet.ts'
import { say } from '../support/say.ts'
import { refreshTimes } from '../support/scene.ts'
import { allRefreshedSince, statesOf } from './open-fleet.ts'
import { openSentinelFleet, type SentinelFleet } from './open-sentinel-fleet.ts'

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
