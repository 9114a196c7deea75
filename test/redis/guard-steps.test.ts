import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'
import { stepJson } from '../../src/redis/steps.ts'
import { type ClusterNode, startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'
import { beginSlotMove, ownerOf } from '../support/slot-move.ts'

let cluster: TestCluster
const keys = createKeys('guarded')

beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: false })
})
afterAll(() => cluster?.stop())

test.each([
  ['the account is on the new node and its alerts are on the old one', 4711, 'account'],
  ['its alerts are on the new node and the account is on the old one', 4712, 'alerts'],
] as const)(
  'a step waits for a slot that is on its way, and runs on the whole account: %s',
  async (_, hubId, first) => {
    const store = cluster.store()
    const own = keys.account(hubId)
    await store.hset(own.account, { state: 'active', hubDomain: 'a.example.com' })
    await store.hset(own.alerts, 'overall', 'as it was')
    const slot = Number(await cluster.masters[0]?.admin.cluster('KEYSLOT', own.account))
    const from = await ownerOf(cluster.masters, slot)
    const to = cluster.masters.find((node) => node !== from) as ClusterNode
    const move = await beginSlotMove(cluster, slot, to)
    await move.moveKey(own[first])

    const writes = { changes: [['overall', 'as it was', 'as it is']], entries: ['a-1 {}'] }
    const changing = store.changeAlerts(keys.own(hubId), hubId, stepJson(writes))
    // Asked and answered behind the step, wherever that would run.
    await store.hget(own.account, 'state')
    await move.finish()
    expect(await changing).toBe('changed')
    expect(await store.hgetall(own.alerts)).toEqual({ overall: 'as it is' })
  },
)
