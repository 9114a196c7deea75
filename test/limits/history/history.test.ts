import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AccountHistory, History } from '../../../src/limits/history/history.ts'
import { mergeReadings, type Readings } from '../../../src/limits/readings.ts'
import { HUB, worldOfFile } from '../../support/world.ts'
import { associations, fetched, pollAccount, properties, readings } from '../reports.ts'
import { expectedOf, GAP_MS, START, sequences, sorted } from './report-sequences.ts'

const world = worldOfFile()

/** Polled one after the other, a second apart from START on. */
async function polled(...all: Readings[]) {
  const w = await world()
  await w.account({ obtainedAt: START })
  const { services, store, keys } = w
  const poll = (at: number, after: Readings) => pollAccount(store, keys, HUB, at, after, GAP_MS)
  for (const [n, one] of all.entries()) await poll(START + n * 1_000, one)
  return { ...w, poll, history: services.history, own: keys.account(HUB) }
}

const at = (n: number) => START + n * 1_000

describe('history', () => {
  test('whatever was reported reads back exactly at every poll, also after its oldest part was cut off', async () => {
    await fc.assert(
      fc.asyncProperty(sequences(6), fc.nat(), async (sequence, cut) => {
        const { poll, history, store, own, close } = await polled()
        const expected = expectedOf(sequence)
        for (const { at: when, readings: after } of expected) await poll(when, after)
        const expectExact = async (since: number) => {
          for (const { at: when, series, missingSince } of expected.filter((one) => one.at >= since)) {
            const [snapshot, ...more] = await history.read(HUB, when, when)
            expect(more).toEqual([])
            expect(sorted(snapshot?.series ?? [])).toEqual(series)
            if (missingSince !== undefined) expect(snapshot).toMatchObject({ at: when, missingSince })
          }
        }
        await expectExact(0)
        const changes = (await history.changes(HUB))?.changes ?? []
        if (changes.length > 0) {
          const first = cut % changes.length
          await store.ltrim(own.history, first, -1)
          expect((await history.changes(HUB))?.changes).toEqual(changes.slice(first))
          await expectExact(changes[first]?.at ?? 0)
        }
        await close()
      }),
      { numRuns: 12 },
    )
  })

  test('of which no change is kept any more tells how things stand', async () => {
    const { history, own, store } = await polled(readings(at(0), properties(7)))
    await store.del(own.history)
    expect(await history.read(HUB, 0, at(5))).toMatchObject([{ at: at(0), series: [{ usage: 7 }] }])
    expect(await history.read(HUB, 0, START - 1)).toEqual([])
  })

  test('has no gap where only one of the endpoints could not be read', async () => {
    const pairs = { '0-1/0-2': associations(500, [480]) }
    let now = readings(at(0), properties(1), pairs)
    const { poll, history } = await polled(now)
    for (let n = 1; n <= 4; n++) {
      const when = at(0) + (n * GAP_MS) / 2
      now = mergeReadings(now, fetched(when, undefined, pairs))
      await poll(when, now)
    }
    expect(await history.read(HUB, 0, at(0) + 3 * GAP_MS)).toHaveLength(1)
  })

  test('is due to be thinned out at once where it has grown to 20000 records, and loses none of them', async () => {
    const { poll, store, keys, own, clock } = await polled(readings(at(0), properties(0)))
    const [record] = await store.lrangeBuffer(own.history, 0, 0)
    const before = (await store.llen(own.history)) + 1
    await store.rpush(own.history, ...Array.from({ length: 20_000 - before }, () => record ?? ''))
    await store.zadd(keys.due.history, clock.now() + 86_400_000, HUB)
    await poll(at(1), readings(at(1), properties(1)))
    expect(await store.zscore(keys.due.history, HUB)).toBe(`${clock.now()}`)
    await poll(at(2), readings(at(2), properties(2)))
    expect(await store.llen(own.history)).toBe(20_001)
  })

  test('keeps no more records than there is room for, if nobody thins it out', async () => {
    const { poll, store, own, history } = await polled(readings(at(0), properties(0)))
    const [record] = await store.lrangeBuffer(own.history, 0, 0)
    for (let n = 0; n < 100; n++) await store.rpush(own.history, ...Array.from({ length: 1_000 }, () => record ?? ''))
    for (const n of [1, 2]) await poll(at(n), readings(at(n), properties(n)))
    expect(await store.llen(own.history)).toBe(100_000)
    expect(await history.read(HUB, at(2), at(2))).toMatchObject([{ series: [{ usage: 2 }] }])
  })
})

async function changesOf(history: History): Promise<AccountHistory> {
  const read = await history.changes(HUB)
  if (read === undefined) throw new Error('there is no history')
  return read
}

describe('a history that is thinned out', () => {
  const five = [0, 1, 2, 3, 4].map((n) => readings(at(n), properties(10 * n, 1_000, n === 1 ? { '2-7': [n, 9] } : {})))

  test('reads as what was put in the place of its changes', async () => {
    const { history } = await polled(...five)
    const read = await changesOf(history)
    expect(read).toMatchObject({ readAt: at(4), current: new Map([['overall', { usage: 40, limit: 1_000 }]]) })
    expect(read.changes.map((change) => change.at)).toEqual([0, 1, 2, 3, 4].map(at))
    const thinned = [{ at: at(2), before: [['overall', undefined]] as [string, undefined][] }, ...read.changes.slice(3)]
    expect(await history.replace(HUB, read, thinned)).toBe('replaced')
    expect((await history.changes(HUB))?.changes).toEqual(thinned)
    expect((await history.read(HUB, 0, at(9))).map((one) => [one.at, one.series[0]?.usage])).toEqual([
      [at(2), 20],
      [at(3), 30],
      [at(4), 40],
    ])
  })

  test('is left as it is when a poll came meanwhile, whether it found a change or not', async () => {
    const { history, poll, store, own } = await polled(...five)
    const read = await changesOf(history)
    await poll(at(5), readings(at(5), properties(40)))
    const before = await store.lrangeBuffer(own.history, 0, -1)
    expect(await history.replace(HUB, read, [])).toBe('lost')
    await poll(at(6), readings(at(6), properties(50)))
    expect(await history.replace(HUB, read, [])).toBe('lost')
    expect((await store.lrangeBuffer(own.history, 0, -1)).slice(0, -1)).toEqual(before)
  })
})
