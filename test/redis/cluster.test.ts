import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import { NEW_WATCH } from '../../src/limits/watch/watch.ts'
import { accountSteps } from '../../src/redis/account-steps.ts'
import { onReady } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { seedAccount } from '../support/accounts.ts'
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
    const polls = hubIds.map((hubId) => [keys.partition(hubId % PARTITIONS).due.poll, hubId] as const)
    await Promise.all(polls.map(([key, hubId]) => store.zadd(key, clock.now(), hubId)))
    const dues = polls.map(([key]) => accountSteps(store).dueTokens(key, clock.now(), 10, 'none:'))
    expect(await Promise.all(dues)).toEqual(hubIds.map((hubId) => `${hubId},,,,,,,1`))
    const { hubIds: claimed } = await due.claim('poll', clock.now(), 10 * PARTITIONS)
    expect(claimed.sort((a, b) => a - b)).toEqual(hubIds)
    expect(await new Registry(store, keys).countByState()).toMatchObject({ active: 0 })
    for (const { admin } of cluster.masters) expect(await admin.dbsize()).toBeGreaterThan(10)
  })

  test('polls of accounts of every slot begin together, and are committed together, among other commands', async () => {
    const store = cluster.store('steps')
    const own = createKeys('polls')
    const polls = new PollStore(store, own)
    const due = new DueSets(store, own)
    const clock = new HandClock()
    await Promise.all(hubIds.map((hubId) => seedAccount(store, own, { hubId, obtainedAt: clock.now() })))
    const { hubIds: claimed, until } = await due.claim('poll', clock.now(), 10 * PARTITIONS)
    expect(claimed).toHaveLength(PARTITIONS)
    const begun = await polls.begin(hubIds)
    expect(begun.map((one) => (one instanceof Error || one === 'gone' ? one : one.hubId))).toEqual(hubIds)
    const results = hubIds.map((hubId) => ({
      hubId,
      claims: [until, until] as const,
      nextAt: clock.now() + 5,
      readings: undefined,
      watch: { ...NEW_WATCH, polledAt: hubId },
    }))
    const others = hubIds.map((hubId) => store.hget(own.own(hubId), 'state'))
    const committed = polls.commit(results)
    const again = polls.begin(hubIds)
    expect(new Set(await committed)).toEqual(new Set(['committed']))
    expect(new Set(await Promise.all(others))).toEqual(new Set(['active']))
    expect(await again).toHaveLength(PARTITIONS)
    const kept = await Promise.all(hubIds.map((hubId) => readWatch(store, own, hubId)))
    expect(kept.map((one) => (typeof one === 'object' ? one.watch.polledAt : one))).toEqual(hubIds)
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
