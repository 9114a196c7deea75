import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Daemon } from '../support/daemon.ts'
import { connectAll, eventually, hubIdsOf } from '../support/fleet.ts'
import { startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'
import { say } from '../support/say.ts'
import { allRefreshedSince, type Fleet, openFleet, statesOf, whatProviderSaw } from './open-fleet.ts'

const ACCOUNTS = 150
const LIFE_MS = 15_000

let cluster: TestCluster
let fleet: Fleet
let daemon: Daemon
let hubIds: number[]

beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: true })
  fleet = await openFleet(
    { cluster: cluster.addresses },
    { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS, rotateRefreshTokens: false },
  )
  daemon = await fleet.daemon()
  hubIds = await hubIdsOf(fleet.sandbox.url)
  await connectAll(daemon.url, hubIds)
})
afterAll(async () => {
  await fleet?.close()
  await cluster?.stop()
})

test.each([0, 1])('master %i is killed and its replica takes over: nothing is lost, no token expires', async (n) => {
  const killedAt = Date.now()
  await cluster.masters[n]?.end('SIGKILL')
  const took = await allRefreshedSince(fleet, hubIds, killedAt)
  say(`master ${n} killed: all ${ACCOUNTS} accounts refreshed again after ${(took / 1_000).toFixed(1)} s`)
  expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
  const { refused, expired, longest } = await whatProviderSaw(fleet.sandbox)
  expect({ refused, expired }).toEqual({ refused: [], expired: 0 })
  expect(longest).toBeLessThan(LIFE_MS)
  // It comes back as the replica of the one that took over.
  await cluster.masters[n]?.again()
  await eventually('a replica again', async () =>
    (await cluster.masters[n]?.admin.info('replication'))?.includes('master_link_status:up'),
  )
})

test('a master that is killed and started again, all its replicas gone, is waited for', async () => {
  // Both nodes of the last third: its accounts can be neither read nor written meanwhile.
  const [gone] = cluster.masters.slice(2)
  await cluster.replicaOf(2).end('SIGKILL')
  await gone?.end('SIGKILL')
  await eventually('a cluster that refuses', async () => !(await cluster.isWhole()))
  await gone?.again()
  const backAt = Date.now()
  const took = await allRefreshedSince(fleet, hubIds, backAt)
  say(`a third was away: all ${ACCOUNTS} accounts refreshed ${(took / 1_000).toFixed(1)} s after it was back`)
  expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
  expect((await whatProviderSaw(fleet.sandbox)).refused).toEqual([])
})
