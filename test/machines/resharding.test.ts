import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { plimsollHere } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { connectAll, customProperties, eventually, hooksOf, hubIdsOf, send } from '../support/fleet.ts'
import { type ClusterNode, startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'
import { say } from '../support/say.ts'
import { beginSlotMove, ownerOf } from '../support/slot-move.ts'
import { allRefreshedSince, type Fleet, openFleet, statesOf, whatProviderSaw } from './open-fleet.ts'

/** Three masters between which the slot of all keys is moved, while accounts are refreshed with rotating tokens and cross their thresholds. */
const ACCOUNTS = 120
const FOR_MS = 120_000

let cluster: TestCluster
let fleet: Fleet
let daemon: Daemon
let hubIds: number[]

beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: false })
  const options = { accounts: ACCOUNTS, tokenLifetimeMs: 30_000 }
  fleet = await openFleet({ cluster: cluster.addresses }, options)
  daemon = await fleet.daemon({ settings: { limits: { every: '5s' } } })
  hubIds = await hubIdsOf(fleet.sandbox.url)
  await connectAll(daemon.url, hubIds)
  await allRefreshedSince(fleet, hubIds, Date.now())
})
afterAll(async () => {
  await fleet?.close()
  await cluster?.stop()
})

test('the slot of all keys is moved from master to master for two minutes: no token and no alert is lost, none is told twice', async () => {
  const until = Date.now() + FOR_MS
  const waiting = [...hubIds]
  let moved = 0
  const moveSlot = async () => {
    const slot = Number(await cluster.masters[0]?.admin.cluster('KEYSLOT', createKeys('plimsoll').news))
    for (; Date.now() < until; moved++) await moveSlowly(slot)
  }
  const cross = async () => {
    for (let hubId = waiting.pop(); hubId !== undefined; hubId = waiting.pop()) {
      await send(`${fleet.sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(960))
      // Spread over the time: accounts cross before a move, while the slot is on its way, and after.
      await pause(FOR_MS / ACCOUNTS / 2)
    }
  }
  await Promise.all([moveSlot(), cross()])
  await eventually('an alert of every account', async () => (await firings()).size === ACCOUNTS, 60_000)
  await allRefreshedSince(fleet, hubIds, Date.now())
  expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
  expect((await whatProviderSaw(fleet.sandbox)).refused).toEqual([])
  expect(Math.max(...(await firings()).values())).toBe(1)
  const config = await fleet.configFile()
  const verified = await plimsollHere(['outbox', 'verify', '--config', config], fleet.folder)
  say(
    `the slot was moved ${moved} times: 0 accounts lost, ${ACCOUNTS} alerts told once; ${verified.out.trim().split('\n').join(', ')}`,
  )
  expect(verified.code).toBe(0)
})

/** Key by key, with steps under way in between. */
async function moveSlowly(slot: number): Promise<void> {
  const from = await ownerOf(cluster.masters, slot)
  const to = cluster.masters[(cluster.masters.indexOf(from) + 1) % 3] as ClusterNode
  const move = await beginSlotMove(cluster, slot, to)
  for (const key of await from.admin.cluster('GETKEYSINSLOT', slot, 1_000)) {
    await move.moveKey(String(key))
    await pause(5)
  }
  await move.finish()
}

/** How many messages told of an account's alert as firing; copies of a message count once. */
async function firings(): Promise<Map<number, number>> {
  const messages = new Map((await hooksOf(fleet.sandbox.url)).map((hook) => [hook.headers['webhook-id'], hook]))
  const counts = new Map<number, number>()
  for (const { body } of messages.values()) {
    for (const { account, kind, status, reason } of body.data.alerts) {
      if (kind !== 'limit' || status !== 'firing' || reason !== 'entered' || account == null) continue
      counts.set(account.hubId, (counts.get(account.hubId) ?? 0) + 1)
    }
  }
  return counts
}
