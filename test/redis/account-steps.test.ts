import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { accountSteps } from '../../src/redis/account-steps.ts'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { table } from '../../src/redis/steps.ts'
import { eventually, freePort } from '../support/fleet.ts'
import { serverOfFile } from '../support/of-file.ts'
import { startRedis } from '../support/redis-server.ts'

const keys = createKeys('batch')
const callsOf = (hubId: number) => keys.account(hubId).calls
const NOW = 1_800_000_000_000
/** One call of three in ten seconds. */
const ASKED = [NOW, 1, 3, 10_000]

const redis = serverOfFile()
let store: Store
beforeAll(async () => {
  store = redis.connect()
})
afterEach(() => store.flushall())

/** How many scripts Redis has run, by now. */
async function scriptsRun(on: Store): Promise<number> {
  const stats = await on.info('commandstats')
  return [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

describe('steps on accounts', () => {
  test('that are asked for at once are one call, and each gets its own answer', async () => {
    const steps = accountSteps(store)
    await steps.takeCalls(callsOf(1), NOW, 2, 3, 10_000)
    const before = await scriptsRun(store)
    const hubIds = [1, 2, 3, 65]
    const answers = await Promise.all(hubIds.map((hubId) => steps.takeCalls(callsOf(hubId), NOW, hubId, 3, 10_000)))
    expect(answers).toEqual([
      [1, 0, 0],
      [2, 0, 0],
      [3, 0, 0],
      [3, 10_000, 0],
    ])
    expect((await scriptsRun(store)) - before).toBe(1)
  })

  test('are one call whoever shares the connection, and none of their own where nobody else asks', async () => {
    const before = await scriptsRun(store)
    await Promise.all([1, 2].map((hubId) => accountSteps(store).takeCalls(callsOf(hubId), ...ASKED)))
    expect((await scriptsRun(store)) - before).toBe(1)
    expect(await accountSteps(store).takeCalls(callsOf(3), ...ASKED)).toEqual([1, 0, 0])
    expect((await scriptsRun(store)) - before).toBe(2)
  })

  test('are more calls where they are many: Redis does nothing else during one', async () => {
    const before = await scriptsRun(store)
    const hubIds = Array.from({ length: 120 }, (_, number) => number + 1)
    const answers = await Promise.all(hubIds.map((hubId) => accountSteps(store).takeCalls(callsOf(hubId), ...ASKED)))
    expect(answers).toEqual(hubIds.map(() => [1, 0, 0]))
    expect((await scriptsRun(store)) - before).toBe(3)
  })

  test('are more calls where they carry much', async () => {
    const before = await scriptsRun(store)
    const big = Buffer.alloc(100_000)
    const commits = [1, 2, 3, 4].map((hubId) =>
      accountSteps(store).commitPoll(keys.own(hubId), table({ hubId }), '', big, '', ''),
    )
    expect(await Promise.all(commits)).toEqual(['gone', 'gone', 'gone', 'gone'])
    expect((await scriptsRun(store)) - before).toBe(2)
  })

  test('fail alone: the others of the same call have their answers, and what they wrote', async () => {
    await store.set(callsOf(2), 'no list')
    const steps = accountSteps(store)
    const before = await scriptsRun(store)
    const [first, second, third] = await Promise.allSettled(
      [1, 2, 3].map((hubId) => steps.takeCalls(callsOf(hubId), ...ASKED)),
    )
    expect((await scriptsRun(store)) - before).toBe(1)
    expect([first, third].map((each) => each?.status)).toEqual(['fulfilled', 'fulfilled'])
    expect(await store.llen(callsOf(3))).toBe(1)
    await expect(Promise.reject((second as PromiseRejectedResult).reason)).rejects.toThrow(/^WRONGTYPE/)
  })

  test('that a step itself gets wrong fail alone too', async () => {
    const steps = accountSteps(store)
    const asked = [steps.takeCalls(callsOf(1), 'no time', 1, 3, 10_000), steps.takeCalls(callsOf(2), ...ASKED)]
    const [wrong, right] = await Promise.allSettled(asked)
    expect(wrong).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/^ERR .*attempt to/) } })
    expect(right).toMatchObject({ status: 'fulfilled' })
  })

  test('with another number of arguments are a call of their own: nobody gets those of somebody else', async () => {
    const steps = accountSteps(store)
    const before = await scriptsRun(store)
    const asked = [1, 2, 3].map((hubId) =>
      steps.takeCalls(callsOf(hubId), ...ASKED, ...(hubId === 2 ? ['more', ''] : [])),
    )
    expect(await Promise.all(asked)).toEqual(Array(3).fill([1, 0, 0]))
    expect((await scriptsRun(store)) - before).toBe(3)
  })

  test('say what Redis refuses, by its own code, each of them', async () => {
    await store.set('filling', 'x'.repeat(100_000))
    const steps = accountSteps(store)
    await store.config('SET', 'maxmemory', '1')
    try {
      const refused = await Promise.allSettled([1, 2].map((hubId) => steps.takeCalls(callsOf(hubId), ...ASKED)))
      for (const each of refused) {
        expect(each).toMatchObject({ status: 'rejected', reason: { message: expect.stringMatching(/^OOM /) } })
      }
    } finally {
      await store.config('SET', 'maxmemory', '0')
    }
    expect(await steps.takeCalls(callsOf(1), ...ASKED)).toEqual([1, 0, 0])
  })

  test('of polls wait a moment for others where some have just left, and only then', async () => {
    const steps = accountSteps(store)
    const begin = (hubId: number) => steps.beginPoll(keys.own(hubId), 0, 0, 0, 0)
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] })
    onTestFinished(() => {
      vi.useRealTimers()
    })
    vi.advanceTimersByTime(1_000)
    expect(await begin(1)).toEqual([])
    const before = await scriptsRun(store)
    const asked = [begin(2)]
    // By then it would have left, and come back.
    await store.ping()
    asked.push(begin(3))
    expect((await scriptsRun(store)) - before).toBe(0)
    vi.advanceTimersByTime(5)
    expect(await Promise.all(asked)).toEqual([[], []])
    expect((await scriptsRun(store)) - before).toBe(1)
  })

  test('wait until Redis is back, and are known to a server that was started anew', async () => {
    const own = await startRedis()
    const steps = accountSteps(own.connect())
    await steps.takeCalls(callsOf(1), ...ASKED)
    await own.end('SIGKILL')
    const waiting = [1, 2].map((hubId) => steps.takeCalls(callsOf(hubId), ...ASKED))
    await own.again()
    expect(await Promise.all(waiting)).toEqual([
      [1, 0, 0],
      [1, 0, 0],
    ])
    await own.stop()
  })

  test('fail, all of them, where the connection is given up', async () => {
    const own = await startRedis()
    const lost = own.connect('pages')
    await accountSteps(lost).takeCalls(callsOf(1), ...ASKED)
    const waiting = [1, 2].map((hubId) => accountSteps(lost).takeCalls(callsOf(hubId), ...ASKED))
    lost.disconnect()
    for (const each of await Promise.allSettled(waiting)) expect(each.status).toBe('rejected')
    await own.stop()
  })
})

test('on a cluster, those of one slot are one call', async () => {
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

  const take = (hubId: number) => accountSteps(cluster).takeCalls(callsOf(hubId), ...ASKED)
  await take(1)
  const before = await scriptsRun(direct)
  // The hubId modulo 64 decides: 65 and 129 and 193 share a slot, as do 2 and 66.
  expect(await Promise.all([65, 2, 129, 66, 193, 3].map(take))).toEqual(Array(6).fill([1, 0, 0]))
  expect((await scriptsRun(direct)) - before).toBe(3)
})
