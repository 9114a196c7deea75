import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask, eventually, hooksOf, journalOf } from '../support/fleet.ts'
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

test('a master dies with rotated tokens that its replica never had: those accounts must be connected again, the others go on', async () => {
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

  const lost = await eventually(
    'everybody refreshed, or told to connect again',
    async () => {
      const refreshed = await refreshedSince(switchedAt)
      const asked = await ask(`${scene.daemon.url}/api/v1/accounts?state=reauthorize&limit=500`)
      if (!asked.ok) return false // It looks for the new master still.
      const { items } = (await asked.json()) as { items: { hubId: number }[] }
      const gone = items.map(({ hubId }) => hubId)
      return scene.hubIds.every((hubId) => refreshed.has(hubId) || gone.includes(hubId)) && gone
    },
    120_000,
  )
  say(`${atRisk.size} accounts were refreshed on a master alone that died: ${lost.length} must be connected again`)
  expect(lost.length).toBeGreaterThan(0)
  for (const hubId of lost) expect([...atRisk]).toContain(hubId)
  expect(await statesOf(scene.daemon.url)).toEqual({ active: ACCOUNTS - lost.length, reauthorize: lost.length })
  await eventually('an alert for each', async () => {
    const told = (await hooksOf(scene.fleet.sandbox.url)).flatMap(({ body }) => body.data.alerts)
    return lost.every((hubId) => told.some(({ kind, account }) => kind === 'token' && account?.hubId === hubId))
  })
})
