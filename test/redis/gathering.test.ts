import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { Gathering } from '../../src/redis/gathering.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { eventually, freePort } from '../support/fleet.ts'
import { serverOfFile } from '../support/of-file.ts'
import { startRedis } from '../support/redis-server.ts'

const keys = createKeys('batch')
const NOW = 1_800_000_000_000

/** Accounts with tokens of their own. */
async function seed(on: Store, ...hubIds: number[]) {
  for (const hubId of hubIds)
    await on.hset(keys.own(hubId), { state: 'active', obtainedAt: NOW, expiresAt: NOW, version: hubId })
}

/** A step that writes; it knows nothing of an account that is not there. */
const gatheredOn = (on: Store) => new Gathering((...call) => on.storeTokens(...call))
const take = (hubId: number, gathered = gathering) =>
  gathered.ask(keys.own(hubId), [`${hubId} 1.5 ${hubId} ${NOW} ${NOW} ${NOW} - - - own`, `access-${hubId}`, '', ''])
const isTaken = async (hubId: number, on: Store = store) => Number(await on.hget(keys.own(hubId), 'version')) > hubId

const redis = serverOfFile()
let store: Store
let gathering: ReturnType<typeof gatheredOn>
beforeAll(async () => {
  store = redis.connect()
  gathering = gatheredOn(store)
})
afterEach(() => store.flushall())

/** How many scripts Redis has run, by now. */
async function scriptsRun(on: Store): Promise<number> {
  const stats = await on.info('commandstats')
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

describe('steps on accounts', () => {
  test('that are asked for at once are one call, and each gets its own answer', async () => {
    await seed(store, 1, 2, 65)
    const before = await scriptsRun(store)
    const answers = await Promise.all([1, 2, 3, 65].map((hubId) => take(hubId)))
    expect(answers).toEqual(['stored', 'stored', 'unknown', 'stored'])
    expect((await scriptsRun(store)) - before).toBe(1)
  })

  test('are one call whoever shares the connection, and none of their own where nobody else asks', async () => {
    await seed(store, 1, 2, 3)
    const before = await scriptsRun(store)
    await Promise.all([1, 2].map((hubId) => take(hubId)))
    expect((await scriptsRun(store)) - before).toBe(1)
    expect(await take(3)).toBe('stored')
    expect((await scriptsRun(store)) - before).toBe(2)
  })

  test('are more calls where they are many: Redis does nothing else during one', async () => {
    const hubIds = Array.from({ length: 120 }, (_, number) => number + 1)
    await seed(store, ...hubIds)
    const before = await scriptsRun(store)
    expect(await Promise.all(hubIds.map((hubId) => take(hubId)))).toEqual(hubIds.map(() => 'stored'))
    expect((await scriptsRun(store)) - before).toBe(3)
  })

  test('fail alone: the others of the same call have their answers, and what they wrote', async () => {
    await seed(store, 1, 3)
    await store.set(keys.own(2), 'no hash')
    const before = await scriptsRun(store)
    const [first, second, third] = await Promise.allSettled([1, 2, 3].map((hubId) => take(hubId)))
    expect((await scriptsRun(store)) - before).toBe(1)
    expect([first, third].map((each) => each?.status)).toEqual(['fulfilled', 'fulfilled'])
    expect(await isTaken(3)).toBe(true)
    await expect(Promise.reject((second as PromiseRejectedResult).reason)).rejects.toThrow(/^WRONGTYPE/)
  })

  test('say what Redis refuses, by its own code, each of them', async () => {
    await seed(store, 1, 2)
    await store.set('filling', 'x'.repeat(100_000))
    await store.config('SET', 'maxmemory', '1')
    try {
      for (const each of await Promise.allSettled([take(1), take(2)])) {
        expect(each).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/^OOM /) } })
      }
    } finally {
      await store.config('SET', 'maxmemory', '0')
    }
    expect(await take(1)).toBe('stored')
  })

  test('wait until Redis is back, and are known to a server that was started anew', async () => {
    const own = await startRedis()
    const waits = gatheredOn(own.connect())
    await take(1, waits)
    await own.end('SIGKILL')
    const waiting = [1, 2].map((hubId) => take(hubId, waits))
    await own.again()
    expect(await Promise.all(waiting)).toEqual(['unknown', 'unknown'])
    await own.stop()
  })

  test('fail, all of them, where the connection is given up', async () => {
    const own = await startRedis()
    const lost = own.connect('pages')
    const gathered = gatheredOn(lost)
    await take(1, gathered)
    const waiting = [1, 2].map((hubId) => take(hubId, gathered))
    lost.disconnect()
    for (const each of await Promise.allSettled(waiting)) expect(each.status).toBe('rejected')
    await own.stop()
  })
})

test('on a cluster they are one call, too', async () => {
  const own = mkdtempSync(join(tmpdir(), 'plimsoll-steps-cluster-'))
  // A node that never met another doesn't know its own address.
  const address = ['--cluster-announce-ip', '127.0.0.1', '--cluster-port', String(await freePort())]
  const node = await startRedis(own, ['--cluster-enabled', 'yes', ...address])
  onTestFinished(async () => {
    await node.stop()
    rmSync(own, { recursive: true, force: true })
  })
  const direct = node.connect('pages')
  await direct.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383')
  await eventually('a whole cluster', async () =>
    String(await direct.call('CLUSTER', 'INFO')).includes('cluster_state:ok'),
  )
  const cluster = connectRedis({ kind: 'cluster', nodes: [{ host: '127.0.0.1', port: node.port }] }, 'steps', () => {})
  onTestFinished(() => cluster.disconnect())

  const gathered = gatheredOn(cluster)
  await take(1, gathered)
  const hubIds = [65, 2, 129, 66, 193, 3]
  await seed(cluster, ...hubIds)
  const before = await scriptsRun(direct)
  expect(await Promise.all(hubIds.map((hubId) => take(hubId, gathered)))).toEqual(hubIds.map(() => 'stored'))
  expect((await scriptsRun(direct)) - before).toBe(1)
})
