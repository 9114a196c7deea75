import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { History, historyEntry } from '../../src/limits/history.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import type { Readings } from '../../src/limits/readings.ts'
import { seriesOf } from '../../src/limits/series.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { seedAccount } from '../support/accounts.ts'
import { useRedis } from '../support/test-store.ts'
import { associations, properties, readings } from './reports.ts'

const redis = useRedis()
const HUB = 123
const START = 1_763_719_200_000

/** Commits readings one after the other, as polls do. */
async function polled(all: Readings[], keys: Keys, times: number[], keepMs = 10 ** 10): Promise<void> {
  const store = new PollStore(redis.store, keys)
  await seedAccount(redis.store, keys, { obtainedAt: START })
  for (const [n, after] of all.entries()) {
    const context = await store.read(HUB)
    if (context === undefined) throw new Error('there is no account')
    const at = times[n] ?? 0
    const before = context.readings
    const committed = await store.commit(HUB, {
      polls: context.polls,
      at,
      nextAt: at + 1,
      fields: { polledAt: String(at) },
      readings: after,
      history: historyEntry(before === undefined ? [] : seriesOf(before), seriesOf(after)),
      historyFrom: at - keepMs,
      samples: undefined,
      alerts: NO_ALERT_WRITES,
    })
    expect(committed).toBe('committed')
  }
}

const asSnapshot = (one: Readings) =>
  seriesOf(one)
    .map(({ id: _, label: __, ...rest }) => rest)
    .sort(byName)
const byName = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)

const count = fc.nat(1_000_000)
const type = fc.tuple(count, count)
const reading = fc
  .record({
    overall: fc.option(fc.tuple(count, count)),
    types: fc.dictionary(fc.constantFrom('0-1', '0-2', '2-123', '2-9'), type, { maxKeys: 4 }),
    pairs: fc.dictionary(
      fc.constantFrom('0-1/0-2', '0-2/0-1', '2-9/0-1'),
      fc.record({ limit: count, near: fc.array(count, { maxLength: 3 }), atLimit: fc.nat(3) }),
      { maxKeys: 3 },
    ),
  })
  .map(({ overall, types, pairs }) =>
    readings(
      0,
      overall === null ? undefined : properties(overall[0], overall[1], types),
      Object.fromEntries(
        Object.entries(pairs).map(([pair, { limit, near, atLimit }]) => [pair, associations(limit, near, atLimit)]),
      ),
    ),
  )

describe('history', () => {
  test('whatever was reported reads back exactly, at every change', async () => {
    const steps = fc.array(fc.record({ reading, passes: fc.integer({ min: 1, max: 10 ** 6 }), again: fc.boolean() }), {
      minLength: 1,
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const keys = redis.freshKeys()
        let now = START
        const all: Readings[] = []
        const times: number[] = []
        for (const { reading: one, passes, again } of list) {
          for (const same of again ? [one, one] : [one]) {
            now += passes
            all.push(same)
            times.push(now)
          }
        }
        await polled(all, keys, times)
        const history = new History(redis.store, keys)
        const expected: { at: number; series: object[] }[] = []
        let last = '[]'
        for (const [n, one] of all.entries()) {
          const series = asSnapshot(one)
          // A poll that saw no change leaves no entry; of none of the series, there is nothing to show.
          if (JSON.stringify(series) !== last && series.length > 0) expected.push({ at: times[n] ?? 0, series })
          last = JSON.stringify(series)
        }
        const found = await history.read(HUB, 0, now)
        expect(found.map(({ at, series }) => ({ at, series: [...series].sort(byName) }))).toEqual(expected)
        // And between two changes things stand as at the one before.
        for (const { at, series } of expected) {
          const [first] = await history.read(HUB, at, at)
          expect(first?.at).toBe(at)
          expect([...(first?.series ?? [])].sort(byName)).toEqual(series)
        }
      }),
      { numRuns: 60 },
    )
  })

  test('of a time in which nothing changed is how things stood at its beginning', async () => {
    const keys = redis.freshKeys()
    await polled([readings(0, properties(1)), readings(0, properties(2))], keys, [START, START + 1_000])
    const history = new History(redis.store, keys)
    const between = await history.read(HUB, START + 400, START + 600)
    expect(between).toMatchObject([{ at: START, series: [{ usage: 1 }] }])
    expect(await history.read(HUB, 0, START - 1)).toEqual([])
    expect(await history.read(HUB, START + 5_000, START + 6_000)).toMatchObject([{ at: START + 1_000 }])
  })

  test('of an account that was never polled is empty', async () => {
    expect(await new History(redis.store, redis.freshKeys()).read(HUB, 0, START)).toEqual([])
  })

  test('reads back right after its oldest part was cut off', async () => {
    const keys = redis.freshKeys()
    const all = Array.from({ length: 400 }, (_, n) => readings(0, properties(n, 1_000, { [`2-${n % 3}`]: [n, 10] })))
    await polled(
      all,
      keys,
      all.map((_, n) => START + n * 1_000),
      100_000,
    )
    expect(await redis.store.xlen(keys.account(HUB).history)).toBeLessThan(300)
    const found = await new History(redis.store, keys).read(HUB, 0, START + 400_000)
    expect(found.length).toBeGreaterThanOrEqual(100)
    for (const { at, series } of found) {
      const n = (at - START) / 1_000
      expect([...series].sort(byName)).toEqual(asSnapshot(all[n] as Readings))
    }
  })

  test('takes an entry for changes only, of the series that changed', () => {
    const before = seriesOf(readings(1, properties(1, 10, { '0-1': [1, 10], '0-2': [2, 10] })))
    const after = seriesOf(readings(2, properties(1, 10, { '0-1': [3, 10], '0-3': [4, 10] })))
    expect(historyEntry(before, after)).toEqual([
      ['type/0-1', '1,10'],
      ['type/0-3', ''],
      ['type/0-2', '2,10'],
    ])
    expect(historyEntry(after, after)).toEqual([])
  })

  test('takes an account with thousands of object types', async () => {
    const keys = redis.freshKeys()
    const types = Object.fromEntries(
      Array.from({ length: 5_000 }, (_, n) => [`2-${n}`, [n, 10_000] as [number, number]]),
    )
    await polled([readings(0, properties(1, 10, types))], keys, [START])
    expect((await new History(redis.store, keys).read(HUB, 0, START))[0]?.series).toHaveLength(5_001)
  })

  test('keeps the name of an object type whatever it is called', async () => {
    const keys = redis.freshKeys()
    await polled([readings(0, properties(1, 10, { 'p1/odd': [1, 10] }))], keys, [START])
    const [snapshot] = await new History(redis.store, keys).read(HUB, 0, START)
    expect(snapshot?.series).toContainEqual(expect.objectContaining({ objectTypeId: 'p1/odd' }))
  })
})
