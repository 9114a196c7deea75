import { Cluster } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onReady } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { eventually } from '../support/fleet.ts'
import { startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'

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
