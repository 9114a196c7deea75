import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createQueues } from '../../jobs/queues.ts'
import { sweepHistory, type TendWork, tendHistory } from '../../jobs/tend-history.ts'
import { startWorkers } from '../../jobs/workers.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { Movement } from '../../src/heartbeat/movement.ts'
import { History } from '../../src/limits/history/history.ts'
import { TendingRounds } from '../../src/limits/history/tending-rounds.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, PARTITIONS } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InForce } from '../../src/runtime/concurrency.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { pollAccount, properties, readings } from '../limits/reports.ts'
import { dump, seedAccount } from '../support/accounts.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
let store: Store
beforeAll(async () => {
  store = redis.connect()
})

const HOUR = 3_600_000
const DAY = 24 * HOUR
const KEEP = { rawMs: 2 * HOUR, hourlyMs: 5 * DAY, dailyMs: 100 * DAY }

/** Accounts that were polled four times in one hour three days ago, each time with a change. */
let fleets = 0

async function fleet(hubIds: number[], clock = new HandClock()) {
  const keys = createKeys(`test-${fleets++}`)
  // At a full hour, so that the four never fall into two.
  const begun = Math.floor((clock.now() - 3 * DAY) / HOUR) * HOUR
  const poll = (hubId: number, at: number, usage: number) =>
    pollAccount(store, keys, hubId, at, readings(at, properties(usage)))
  for (const hubId of hubIds) {
    await seedAccount(store, keys, { hubId, obtainedAt: clock.now() })
    for (const n of [1, 2, 3, 4]) await poll(hubId, begun + n * 60_000, n)
  }
  const world = { woken: [] as [string, number][], handedOn: [] as { partitions: number[] }[] }
  const { log, lines } = logLines()
  const metrics = createMetrics()
  const history = new History(store, keys)
  const deps = {
    rounds: new TendingRounds(store, keys),
    registry: new Registry(store, keys),
    queues: {
      tendHistory: {
        name: 'tend-history',
        add: async (_name: string, job: { partitions: number[] }) => world.handedOn.push(job),
      },
      wake: async (kind: string, at: number) => {
        world.woken.push([kind, at - clock.now()])
      },
    },
    ...{ store, keys, history, historyKeep: KEEP, metrics, clock, log, repair: async () => {} },
  } as unknown as TendWork
  const stop = new AbortController()
  return {
    ...{ keys, clock, deps, world, stop, lines, poll, history },
    sweep: () => sweepHistory(deps),
    tend: (...partitions: number[]) => tendHistory(deps, { partitions }, stop.signal),
    changes: async (hubId: number) => (await history.changes(hubId))?.changes.length,
    outcomes: async () => {
      const { values } = await metrics.tended.get()
      return Object.fromEntries(values.map(({ labels, value }) => [`${labels.step} ${labels.outcome}`, value]))
    },
  }
}

describe('tending histories', () => {
  test('thins out every account of the partitions whose turn it is, and reads back the same at the end of the hour', async () => {
    const one = await fleet([5, 69, 6])
    const end = one.clock.now() - 3 * DAY + HOUR
    const before = await one.history.read(5, end, end)
    await one.sweep()
    expect(one.world.handedOn).toEqual([{ partitions: Array.from({ length: PARTITIONS }, (_, n) => n) }])
    await one.tend(5)
    expect(await Promise.all([5, 69, 6].map(one.changes))).toEqual([1, 1, 4])
    expect(await one.history.read(5, end, end)).toEqual(before)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 2, 'thin-out replaced': 2 })
  })

  test('is done once a day, and twice does no harm', async () => {
    const one = await fleet([5])
    await one.tend(5)
    const stored = await dump(store, one.keys)
    await one.tend(5)
    expect(await dump(store, one.keys)).toEqual(stored)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'thin-out replaced': 1 })
    one.clock.move(DAY)
    await one.sweep()
    expect(one.world.handedOn.at(-1)?.partitions).toContain(5)
    await one.tend(5)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 2, 'thin-out replaced': 1, 'thin-out unchanged': 1 })
  })

  test('takes uninstalled accounts too, and leaves alone those that were never polled', async () => {
    const one = await fleet([5])
    await seedAccount(store, one.keys, { hubId: 69, obtainedAt: one.clock.now() })
    const { state } = one.keys.partition(5)
    await store.zrem(state.active, 5)
    await store.zadd(state.uninstalled, 5, 5)
    await one.tend(5)
    expect(await one.changes(5)).toBe(1)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'thin-out replaced': 1 })
  })

  test('of one account that fails stops no other', async () => {
    const one = await fleet([5, 69])
    await store.set(one.keys.account(5).watch, 'not what was written')
    await one.tend(5)
    expect(await one.changes(69)).toBe(1)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'read failed': 1, 'thin-out replaced': 1 })
    expect(one.lines()).toMatchObject([{ code: 'tend.error', hubId: 5, step: 'read' }])
  })

  test('loses to a poll that changes the record meanwhile, and does it the next day', async () => {
    const one = await fleet([5])
    const { changes } = one.history
    one.history.changes = async (hubId) => {
      const record = await changes.call(one.history, hubId)
      await store.lpop(one.keys.account(hubId).history)
      return record
    }
    await one.tend(5)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'thin-out lost': 1 })
    one.history.changes = changes
    expect(await one.changes(5)).toBe(3)
    one.clock.move(DAY)
    await one.tend(5)
    expect(await one.changes(5)).toBe(1)
  })

  test('goes on where it was stopped', async () => {
    const hubIds = [5, 69, 133, 197]
    const one = await fleet(hubIds)
    const { changes } = one.history
    let left = 2
    one.history.changes = (hubId) => {
      if (--left === 0) one.stop.abort()
      return changes.call(one.history, hubId)
    }
    await one.tend(5, 6)
    one.history.changes = changes
    expect(await Promise.all(hubIds.map(one.changes))).toEqual([1, 1, 4, 4])
    expect(one.world.woken).toEqual([['tend-history', 500]])
    await tendHistory(one.deps, { partitions: [5, 6] }, new AbortController().signal)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 4, 'thin-out replaced': 4 })
    expect(one.world.woken).toHaveLength(1)
  })

  test('comes in chunks, the next one soon after', async () => {
    const one = await fleet([5])
    const { state } = one.keys.partition(5)
    // Accounts that were never polled cost a chunk its room, too.
    const others = Array.from({ length: 250 }, (_, n) => 5 + 64 * (n + 1))
    await store.zadd(state.active, ...others.flatMap((hubId) => [hubId, hubId]))
    await one.tend(5, 6)
    expect(await store.hget(one.keys.partition(5).tended, 'after')).toBe(String(5 + 64 * 199))
    expect(one.world.woken).toEqual([['tend-history', 500]])
    await one.tend(5, 6)
    expect(await store.hget(one.keys.partition(5).tended, 'after')).toBe('over')
    expect(await store.hget(one.keys.partition(6).tended, 'after')).toBe('over')
    expect(one.world.woken).toHaveLength(1)
  })

  test('is done by whoever is at work, for all partitions', async () => {
    const one = await fleet([5, 69, 6], new HandClock(systemClock.now()))
    const { keys, deps } = one
    const queues = createQueues(redis.connect('queues'), keys.queues, systemClock, deps.log)
    const work = { ...deps, queues, clock: systemClock, movement: new Movement(systemClock), receivers: new Map() }
    const workers = startWorkers(redis.connect('queues'), new InForce(work as never))
    onTestFinished(() => workers.stop(1_000).then(queues.close))
    await queues.hearWakes(redis.connect('queues'), workers.wake)
    await queues.wake('tend-history', systemClock.now())
    await eventually('a round of every partition', async () => (await deps.rounds.due(systemClock.now())).length === 0)
    expect(await Promise.all([5, 69, 6].map(one.changes))).toEqual([1, 1, 1])
    expect(Object.keys(await store.hgetall(keys.progress))).toEqual(['tend-history'])
  })

  test('is handed on one chunk at a time, also by daemons that look at once', async () => {
    const one = await fleet([5])
    const queues = createQueues(redis.connect('queues'), one.keys.queues, systemClock, one.deps.log)
    onTestFinished(queues.close)
    await Promise.all([sweepHistory({ ...one.deps, queues }), sweepHistory({ ...one.deps, queues })])
    expect(await queues.tendHistory.getWaitingCount()).toBe(1)
  })
})
