import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Daemon } from '../support/daemon.ts'
import { connectAll, eventually, hubIdsOf } from '../support/fleet.ts'
import { type ClusterNode, startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'
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

/** All keys are on the third master, or on its replica where that took over. */
const pair = (): [ClusterNode, ClusterNode] => [cluster.masters[2] as ClusterNode, cluster.replicaOf(2)]

test.each([
  ['a master that has no key', () => cluster.masters[0] as ClusterNode],
  ['the master that has all keys', () => pair()[0]],
  ['the replica that took over from it', () => pair()[1]],
])('%s is killed and its replica takes over: nothing is lost, no token expires', async (which, node) => {
  const hasKeys = which !== 'a master that has no key'
  expect((await node().admin.dbsize()) > 0).toBe(hasKeys)
  expect(await node().admin.info('replication')).toContain('role:master')
  const killedAt = Date.now()
  await node().end('SIGKILL')
  try {
    const took = await allRefreshedSince(fleet, hubIds, killedAt)
    say(`${which} killed: all ${ACCOUNTS} accounts refreshed again after ${(took / 1_000).toFixed(1)} s`)
    expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
    const { refused, expired, longest } = await whatProviderSaw(fleet.sandbox)
    expect({ refused, expired }).toEqual({ refused: [], expired: 0 })
    expect(longest).toBeLessThan(LIFE_MS)
  } finally {
    await node().again()
  }
  // It comes back as the replica of the one that took over.
  await eventually('a replica again', async () =>
    (await node().admin.info('replication')).includes('master_link_status:up'),
  )
})

test('the master that has all keys is killed and started again, its replica gone: it is waited for', async () => {
  const [gone, replica] = pair()
  expect(await gone.admin.info('replication')).toContain('role:master')
  await replica.end('SIGKILL')
  await gone.end('SIGKILL')
  await eventually('a cluster that refuses', async () => !(await cluster.isWhole()))
  await gone.again()
  const backAt = Date.now()
  const took = await allRefreshedSince(fleet, hubIds, backAt)
  say(`all keys were away: all ${ACCOUNTS} accounts refreshed ${(took / 1_000).toFixed(1)} s after they were back`)
  expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
  expect((await whatProviderSaw(fleet.sandbox)).refused).toEqual([])
})
