import { Cluster } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { loadPollState } from '../../src/limits/poll-state-text.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { onReady } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { polledState } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'
import { ownerOf } from '../support/slot-move.ts'

/** What `npm run machines` shows of whole daemons, here of the steps alone: three masters, one of which has all keys. */
describe('a cluster of three masters', () => {
  let cluster: TestCluster
  beforeAll(async () => {
    cluster = await startRedisCluster({ replicas: false })
  })
  afterAll(() => cluster?.stop())

  const hubIds = Array.from({ length: 64 }, (_, n) => n + 1)

  test('polls of accounts begin together, and are committed together, among other commands', async () => {
    const store = cluster.store('steps')
    const own = createKeys('polls')
    const polls = new PollStore(store, own)
    const due = new DueSets(store, own)
    const clock = new HandClock()
    await Promise.all(hubIds.map((hubId) => seedAccount(store, own, { hubId, obtainedAt: clock.now() })))
    expect(await new Registry(store, own).countByState()).toMatchObject({ active: hubIds.length })
    const claimed = await due.claim('poll', 100, 60_000)
    expect(claimed).toHaveLength(hubIds.length)
    const begun = await polls.load(hubIds)
    expect(begun.map((one) => (one instanceof Error || one === 'gone' ? one : one.hubId))).toEqual(hubIds)
    const results = hubIds.map((hubId) => ({
      hubId,
      claim: claimed[0]?.claim ?? 0,
      nextAt: clock.now() + 5,
      state: polledState(hubId, undefined),
    }))
    const others = hubIds.map((hubId) => store.hget(own.own(hubId), 'state'))
    const committed = polls.commit(results)
    const again = polls.load(hubIds)
    expect(new Set(await committed)).toEqual(new Set(['committed']))
    expect(new Set(await Promise.all(others))).toEqual(new Set(['active']))
    expect(await again).toHaveLength(hubIds.length)
    const kept = await Promise.all(hubIds.map((hubId) => loadPollState(store, own, hubId)))
    expect(kept.map((one) => (typeof one === 'object' ? one.polledAt : one))).toEqual(hubIds)
  })

  test('a step for which a node has to be waited for is done once it is back', async () => {
    const store = cluster.store('steps')
    const keys = createKeys('test')
    const forecasts = hubIds.map((hubId) => keys.account(hubId).forecast)
    await Promise.all(forecasts.map((key) => store.set(key, 'before')))
    const slot = Number(await cluster.masters[0]?.admin.cluster('KEYSLOT', forecasts[0] ?? ''))
    const owner = await ownerOf(cluster.masters, slot)
    await owner.end('SIGKILL')
    const writes = forecasts.map((key) => store.set(key, 'meanwhile'))
    await owner.again()
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
    const keys = Array.from({ length: 64 }, (_, n) => `any-slot-${n}`)
    await Promise.all(keys.map((key) => store.set(key, 'before')))
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
    await Promise.all(keys.map((key) => store.set(key, 'after')))
    await eventually('it is heard of', async () => heard > 0)
    expect(await store.get(keys[0] ?? '')).toBe('after')
  })
})
