import { describe, expect, onTestFinished, test } from 'vitest'
import { sweep } from '../../jobs/sweep.ts'
import { tendHistory } from '../../jobs/tend-history.ts'
import { startWorkers } from '../../jobs/workers.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InForce } from '../../src/runtime/concurrency.ts'
import { pollAccount, properties, readings } from '../limits/reports.ts'
import { dump } from '../support/accounts.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openWorld } from '../support/world.ts'

const redis = redisOfFile()
const HOUR = 3_600_000
const DAY = 24 * HOUR
const KEEP = { raw: '2h', hourly: '5d', daily: '100d' }

/** Accounts that were polled four times in one hour three days ago, each time with a change. */
async function fleet(hubIds: number[], clock = new HandClock()) {
  const w = await openWorld(redis, {
    clock,
    settings: { limits: { history: KEEP } },
  })
  const { store, keys, services } = w
  // At a full hour, so that the four never fall into two.
  const begun = Math.floor((clock.now() - 3 * DAY) / HOUR) * HOUR
  for (const hubId of hubIds) {
    await w.account({ hubId })
    await store.zadd(keys.due.history, clock.now(), hubId)
    for (const n of [1, 2, 3, 4]) {
      const at = begun + n * 60_000
      await pollAccount(store, keys, hubId, at, readings(at, properties(n)))
    }
  }
  const stop = new AbortController()
  return {
    ...w,
    stop,
    history: services.history,
    queue: services.queues.tendHistory,
    sweep: () => sweep(services, 'tend-history'),
    tend: () => tendHistory(services, stop.signal),
    changes: async (hubId: number) => (await services.history.changes(hubId))?.changes.length,
    outcomes: async () => {
      const { values } = await services.metrics.tended.get()
      return Object.fromEntries(values.map(({ labels, value }) => [`${labels.step} ${labels.outcome}`, value]))
    },
  }
}

describe('tending histories', () => {
  test('thins out every account that is due, and reads back the same at the end of the hour', async () => {
    const one = await fleet([5, 69, 6])
    const end = one.clock.now() - 3 * DAY + HOUR
    const before = await one.history.read(5, end, end)
    await one.sweep()
    expect(await one.queue.getJobs()).toHaveLength(1)
    await one.store.zadd(one.keys.due.history, one.clock.now() + 1, 6)
    await one.tend()
    expect(await Promise.all([5, 69, 6].map(one.changes))).toEqual([1, 1, 4])
    expect(await one.history.read(5, end, end)).toEqual(before)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 2, 'thin-out replaced': 2 })
  })

  test('is done once a day, and twice does no harm', async () => {
    const one = await fleet([5])
    await one.tend()
    const stored = await dump(one.store, one.keys)
    await one.tend()
    expect(await dump(one.store, one.keys)).toEqual(stored)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'thin-out replaced': 1 })
    one.clock.move(DAY)
    await one.sweep()
    expect(await one.queue.getJobs()).toHaveLength(1)
    await one.tend()
    expect(await one.outcomes()).toEqual({ 'forecast stored': 2, 'thin-out replaced': 1, 'thin-out unchanged': 1 })
  })

  test('takes uninstalled accounts too, and leaves alone those that were never polled', async () => {
    const one = await fleet([5])
    await one.account({ hubId: 69 })
    const { state } = one.keys
    await one.store.zrem(state.active, 5)
    await one.store.zadd(state.uninstalled, 5, 5)
    await one.tend()
    expect(await one.changes(5)).toBe(1)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'thin-out replaced': 1 })
  })

  test('of one account that fails stops no other', async () => {
    const one = await fleet([5, 69])
    await one.store.set(one.keys.account(5).poll, 'not what was written')
    await one.tend()
    expect(await one.changes(69)).toBe(1)
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'read failed': 1, 'thin-out replaced': 1 })
    expect(one.logged.lines()).toMatchObject([
      { code: 'tend.error', hubId: 5, step: 'read' },
      { code: 'account.unreadable' },
    ])
  })

  test('loses to a poll that changes the record meanwhile, and does it the next day', async () => {
    const one = await fleet([5])
    const { replace } = one.history
    one.history.replace = async (hubId, ...more) => {
      await one.store.lpop(one.keys.account(hubId).history)
      return replace.call(one.history, hubId, ...more)
    }
    await one.tend()
    expect(await one.outcomes()).toEqual({ 'forecast stored': 1, 'thin-out lost': 1 })
    one.history.replace = replace
    expect(await one.changes(5)).toBe(3)
    one.clock.move(DAY)
    await one.tend()
    expect(await one.changes(5)).toBe(1)
  })

  test('is done by whoever is at work', async () => {
    const one = await fleet([5, 69, 6], new HandClock(systemClock.now()))
    const { keys, services } = one
    const workers = startWorkers(redis.connect('queues'), new InForce({ ...services, clock: systemClock } as never))
    onTestFinished(() => workers.stop(1_000))
    workers.wake('tend-history', systemClock.now())
    await eventually('all', async () => (await Promise.all([5, 69, 6].map(one.changes))).join() === '1,1,1')
    expect(Object.keys(await one.store.hgetall(keys.fleet))).toContain('tend-history')
  })
})
