import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { CallShare } from '../../src/limits/polling/call-share.ts'
import { onReady } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'

/** What `npm run machines` shows of whole daemons, here of the steps alone: three masters, accounts of every partition. */
describe('a cluster of three masters', () => {
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: false })
  })
  afterAll(() => cluster?.stop())

  const keys = createKeys('test')
  const hubIds = Array.from({ length: PARTITIONS }, (_, n) => n + 1)

  test('steps on accounts of every slot that are asked for at one moment reach each the node that has it', async () => {
    const store = cluster.store('steps')
    const due = new DueSets(store, keys)
    const clock = new HandClock()
    const share = new CallShare(store, keys, { requests: 5, perMs: 10_000 }, clock)
    await Promise.all(
      hubIds.map((hubId) => store.zadd(keys.partition(hubId % PARTITIONS).due.poll, clock.now(), hubId)),
    )
    const taken = await Promise.all(hubIds.map((hubId) => share.take(hubId, 3, new AbortController().signal)))
    expect(new Set(taken.map(({ granted }) => granted))).toEqual(new Set([3]))
    const { hubIds: claimed } = await due.claim('poll', clock.now(), 10 * PARTITIONS)
    expect(claimed.sort((a, b) => a - b)).toEqual(hubIds)
    expect(await new Registry(store, keys).countByState()).toMatchObject({ active: 0 })
    for (const { admin } of cluster.masters) expect(await admin.dbsize()).toBeGreaterThan(10)
  })

  test('a step for which a node has to be waited for is done once it is back', async () => {
    const store = cluster.store('steps')
    const [first] = cluster.masters
    await Promise.all(hubIds.map((hubId) => store.set(keys.account(hubId).forecast, 'before')))
    await first?.end('SIGKILL')
    const writes = hubIds.map((hubId) => store.set(keys.account(hubId).forecast, 'meanwhile'))
    await first?.again()
    expect(new Set(await Promise.all(writes))).toEqual(new Set(['OK']))
  })
})

describe('a cluster with replicas', () => {
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: true })
  })
  afterAll(() => cluster?.stop())

  test('a replica that was connected before and takes over is heard of: it may lack what was written last', async () => {
    const store = cluster.store()
    const keys = createKeys('test')
    const partitions = Array.from({ length: PARTITIONS }, (_, n) => keys.partition(n).log)
    await Promise.all(partitions.map((key) => store.set(key, 'before')))
    if (!(store instanceof Cluster)) throw new Error('no cluster')
    // As where they are asked who has which slots. A node that was just found may not take calls yet.
    await eventually('replicas that answer', async () => {
      store.refreshSlotsCache()
      const answers = store.nodes('slave').map((node) =>
        node.ping().then(
          () => true,
          () => false,
        ),
      )
      return answers.length === 3 && (await Promise.all(answers)).every(Boolean)
    })
    let heard = 0
    onReady(store, () => heard++)
    await cluster.masters[0]?.end('SIGKILL')
    await Promise.all(partitions.map((key) => store.set(key, 'after')))
    await eventually('it is heard of', async () => heard > 0, 20_000)
    expect(await store.get(partitions[0] ?? '')).toBe('after')
  })
})
