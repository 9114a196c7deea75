import { describe, expect, test } from 'vitest'
import type { ChunkJob } from '../../jobs/queues.ts'
import { sweep } from '../../jobs/sweep.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { ClockWatch } from '../../src/runtime/clock.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { seedAccount } from '../support/accounts.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { failure } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const MINUTE = 60_000
const SLOW = { mostPerSecond: 10, errorCeiling: 0.05 }

/** Accounts whose tokens, of different lives, are all due; and a queue that shows what is handed on. */
async function overdue(count: number, settings = { mostPerSecond: 1_000, errorCeiling: 0.05 }) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  const begun = clock.now()
  // The longest life first in the set of due moments, so that its order is not that of expiry.
  const lives = Array.from({ length: count }, (_, n) => ({ hubId: n + 1, lifeMs: 40 * MINUTE - n * 1_000 }))
  for (const { hubId, lifeMs } of lives) await seedAccount(redis.store, keys, { hubId, obtainedAt: begun, lifeMs })
  const due = new DueSets(redis.store, keys)
  clock.move(39 * MINUTE)
  const endpoint = openEndpoint(redis.store, keys, clock, { settings })
  const world = {
    handedOn: [] as number[],
    waiting: 0,
    random: 0,
  }
  const queue = {
    name: 'refresh-tokens',
    getWaitingCount: async () => world.waiting,
    addBulk: async (jobs: { data: ChunkJob }[]) => {
      world.handedOn.push(...jobs.flatMap(({ data }) => data.hubIds))
    },
  }
  const clockWatch = new ClockWatch(clock)
  const deps = {
    due,
    endpoint,
    queues: { refreshTokens: queue },
    store: redis.store,
    keys,
    clock,
    clockWatch,
    random: () => world.random,
    log: logLines().log,
    metrics: createMetrics(),
  } as never
  /** In how long it would look again, ms. */
  const run = async () => {
    const next = await sweep(deps, 'refresh-tokens')
    return next === undefined ? undefined : next - clock.now()
  }
  const setBack = (ms: number) => clock.set(-ms)
  return { ...{ keys, clock, due, endpoint, world, run, setBack } }
}

describe('a sweep for tokens', () => {
  test('hands on everybody who is due, nearest to expiry first, each once', async () => {
    const { world, run } = await overdue(40)
    await run()
    expect(world.handedOn).toEqual(Array.from({ length: 40 }, (_, n) => 40 - n))
    await run()
    expect(world.handedOn).toHaveLength(40)
  })

  test('hands on no more than the endpoint takes soon, and looks again at once for the rest', async () => {
    const { world, run } = await overdue(60, SLOW)
    expect(await run()).toBeLessThanOrEqual(1_000)
    expect(world.handedOn.length).toBeGreaterThan(5)
    expect(world.handedOn.length).toBeLessThanOrEqual(30)
    expect(world.handedOn[0]).toBe(60)
  })

  test('hands on nothing while enough is waiting', async () => {
    const { world, run } = await overdue(10)
    world.waiting = 50
    expect(await run()).toBeLessThanOrEqual(1_000)
    expect(world.handedOn).toEqual([])
  })

  test('hands on one account as a probe while the breaker is open, when its moment has come', async () => {
    const { world, run, endpoint, clock } = await overdue(40)
    await endpoint.room(0, 1_000)
    const { failure: down } = failure('transient', { status: 503 })
    for (let hubId = 1_001; hubId <= 1_010; hubId++) await endpoint.failed(hubId, down)
    const waits = (await run()) ?? 0
    expect(world.handedOn).toEqual([])
    expect(waits).toBeGreaterThan(1_000)
    clock.move(waits)
    await run()
    expect(world.handedOn).toHaveLength(1)
  })

  test('probes with anybody: two dead accounts must not keep the trouble going', async () => {
    const { world, run, endpoint, clock } = await overdue(40)
    await endpoint.room(0, 1_000)
    const { failure: down } = failure('transient', { status: 503 })
    for (let hubId = 1_001; hubId <= 1_010; hubId++) await endpoint.failed(hubId, down)
    for (world.random of [0.1, 0.4, 0.7, 0.99]) {
      clock.move(30_000)
      await run()
    }
    expect(new Set(world.handedOn).size).toBe(4)
  })

  test('after the clock was set back takes up whose token seems to come from the future', async () => {
    const { world, run, setBack, keys, clock } = await overdue(3)
    await run()
    await seedAccount(redis.store, keys, { hubId: 99, obtainedAt: clock.now() })
    world.handedOn = []
    setBack(60 * MINUTE)
    await run()
    expect(world.handedOn).toContain(99)
  })
})

describe('between two looks of a fleet at rest', () => {
  /** Two accounts of one life, of which one is due and the other will be in `nextMs`. */
  async function resting(lifeMs: number, nextMs: number) {
    const { keys, clock, run, world } = await overdue(0)
    for (const hubId of [1, 2]) {
      await seedAccount(redis.store, keys, { hubId, obtainedAt: clock.now() - lifeMs / 2, lifeMs })
    }
    await redis.store.zadd(keys.partition(1).due.refresh, clock.now(), 1)
    await redis.store.zadd(keys.partition(2).due.refresh, clock.now() + nextMs, 2)
    const waits = await run()
    expect(world.handedOn).toEqual([1])
    return waits
  }

  test('lies a moment, so that who comes due in it travels along; of its life a hundredth at most', async () => {
    expect(await resting(30 * MINUTE, 10)).toBe(2_500)
    expect(await resting(30 * MINUTE, 5_000)).toBe(5_000)
    expect(await resting(15_000, 10)).toBe(150)
    expect(await resting(15_000, 400)).toBe(400)
  })

  test('of which the first has nobody, lies no more than until somebody is due', async () => {
    const { keys, clock, run } = await overdue(0)
    await seedAccount(redis.store, keys, { hubId: 1, obtainedAt: clock.now() })
    await redis.store.zadd(keys.partition(1).due.refresh, clock.now() + 40, 1)
    expect(await run()).toBe(40)
  })
})
