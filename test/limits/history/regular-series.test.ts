import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Snapshot, SnapshotSeries } from '../../../src/limits/history/history.ts'
import {
  type Range,
  type Regular,
  regularSeries,
  spanOf,
  thinOut,
  zonesOf,
} from '../../../src/limits/history/resolutions.ts'
import { type AccountRecord, DAY, HOUR, isMissing, keep, polls, recordOf, START, standingBefore } from './records.ts'

const at = (hours: number) => START + hours * HOUR
const overall = (usage: number): SnapshotSeries[] => [
  { metric: 'customProperties.overall', usage, limit: 100, percent: usage },
]
const snapshot = (hours: number, usage: number, missingSince?: number): Snapshot => ({
  at: at(hours),
  ...(missingSince === undefined ? {} : { missingSince: at(missingSince) }),
  series: overall(usage),
})

/** Usages by hour since the start. */
function series(snapshots: Snapshot[], resolution: Regular, range: Partial<Range> = {}, hoursFrom = 0) {
  const whole = { from: at(0), to: at(1_000), readUntil: at(1_000), ...range }
  const items = [...regularSeries(snapshots, whole, resolution, { rawFrom: at(hoursFrom), hourlyFrom: at(hoursFrom) })]
  return items.map((item) => [(item.at - START) / HOUR, item.series[0]?.usage])
}

describe('a regular series', () => {
  test('has one snapshot an hour: how things stood at its end', () => {
    const snapshots = [snapshot(0.2, 1), snapshot(0.7, 2), snapshot(3, 3), snapshot(3.5, 4)]
    expect(series(snapshots, 'hourly', { to: at(5) })).toEqual([
      [1, 2],
      [2, 2],
      [3, 2],
      [4, 4],
      [5, 4],
    ])
  })

  test('has one snapshot a day of UTC, the running one as things stand at the end of the range', () => {
    const snapshots = [snapshot(-100, 1), snapshot(23.9, 2), snapshot(24, 3), snapshot(50, 4), snapshot(51, 5)]
    expect(series(snapshots, 'daily', { from: at(2), to: at(50.5) })).toEqual([
      [24, 2],
      [48, 3],
      [50.5, 4],
    ])
  })

  test('has none before the first snapshot, and none where there is no snapshot at all', () => {
    expect(series([snapshot(30.5, 1)], 'hourly', { to: at(32) })).toEqual([
      [31, 1],
      [32, 1],
    ])
    expect(series([], 'daily')).toEqual([])
    expect(series([snapshot(30, 1)], 'daily', { to: at(24) })).toEqual([])
  })

  test('leaves out hours in which nothing was read, and says so at the one that ends them', () => {
    const snapshots = [snapshot(0.2, 1), snapshot(3.5, 1, 0.2), snapshot(4.5, 2, 4.1)]
    expect(series(snapshots, 'hourly', { to: at(6) })).toEqual([
      [1, 1],
      [4, 1],
      [5, 2],
      [6, 2],
    ])
    const range = { from: at(0), to: at(6), readUntil: at(6) }
    const all = { rawFrom: 0, hourlyFrom: 0 }
    const items = [...regularSeries(snapshots, range, 'hourly', all)]
    expect(items.map(({ missingSince }) => missingSince)).toEqual([undefined, at(0.2), undefined, undefined])
    const cut = { from: at(1), to: at(2.5), readUntil: at(6) }
    expect([...regularSeries(snapshots, cut, 'hourly', all)]).toEqual([])
  })

  test('leaves out hours that begin after the last reading', () => {
    expect(series([snapshot(0.2, 1)], 'hourly', { readUntil: at(1.4), to: at(9.5) })).toEqual([
      [1, 1],
      [2, 1],
    ])
  })

  test('has none where what is known ends before the range begins', () => {
    const zones = { rawFrom: at(10), hourlyFrom: at(0) }
    const range = { from: at(1.2), to: at(1.7), readUntil: at(20) }
    for (const resolution of ['hourly', 'daily'] as const) {
      expect([...regularSeries([snapshot(0.5, 1)], range, resolution, zones)]).toEqual([])
    }
  })

  test('has days where the history knows no hours any more', () => {
    const snapshots = [snapshot(23.5, 1), snapshot(47.5, 2), snapshot(49, 3)]
    expect(series(snapshots, 'hourly', { to: at(50) }, 48)).toEqual([
      [24, 1],
      [48, 2],
      [49, 2],
      [50, 3],
    ])
  })

  test('has none in the middle of an hour or day of which only the end is kept', () => {
    const snapshots = [snapshot(23.5, 1), snapshot(47.5, 2), snapshot(49.8, 3), snapshot(51.2, 4)]
    const zones = { rawFrom: at(51), hourlyFrom: at(48) }
    const ends = (resolution: Regular, to: number) => {
      const range = { from: at(0), to: at(to), readUntil: at(1_000) }
      return [...regularSeries(snapshots, range, resolution, zones)].map((one) => (one.at - START) / HOUR)
    }
    expect(ends('daily', 36)).toEqual([24])
    expect(ends('hourly', 49.9)).toEqual([24, 48, 49])
    expect(ends('daily', 50.5)).toEqual([24, 48, 50])
    expect(ends('daily', 51.5)).toEqual([24, 48, 51.5])
  })

  const scene = fc.record({
    ...{ polls, keep },
    later: fc.integer({ min: 0, max: 20 * DAY }),
    reach: fc.tuple(fc.integer({ min: 0, max: 15 * DAY }), fc.integer({ min: 0, max: 5 * DAY })),
    resolution: fc.constantFrom<Regular>('hourly', 'daily'),
    thinned: fc.boolean(),
  })

  test('of any range says what was reported last before each end, also of a thinned record; and nothing else', () => {
    fc.assert(
      fc.property(scene, ({ polls, keep, later, reach, resolution, thinned }) => {
        const record = recordOf(polls)
        const first = record.changes[0]?.at ?? START
        const now = first + later
        const asked = now - reach[1]
        const zones = thinned ? zonesOf(now, keep) : { rawFrom: 0, hourlyFrom: 0, dailyFrom: 0 }
        const { hourlyFrom, dailyFrom } = zones
        // In the middle of an hour or day that was thinned out nobody knows how things stood.
        const to = asked >= zones.rawFrom ? asked : spanOf(asked, 'hourly', zones).start
        // What was read at the very end of an hour belongs to the next one, whose own end may say something else.
        fc.pre(to === asked || !polls.some(({ at }) => at === to))
        const from = Math.max(asked - reach[0], dailyFrom)
        const readUntil = polls.at(-1)?.at ?? 0
        const read = thinned ? { ...record, changes: thinOut(record.state, record.changes, now, keep) } : record
        const range = { from, to: asked, readUntil }
        const items = [...regularSeries(snapshotsOf(read, from), range, resolution, zones)]

        const expected: [number, unknown][] = []
        for (let span = spanOf(from, resolution, { hourlyFrom }); span.start < to && from <= to; ) {
          const { start, end } = span
          span = spanOf(end, resolution, { hourlyFrom })
          const until = Math.min(end, to + 1)
          const standing = standingBefore(record, until)
          if (standing === undefined || start > readUntil || isMissing(record, start, until)) continue
          expected.push([Math.min(end, to), standing])
        }
        expect(items.map((item) => [item.at, valuesOf(item)])).toEqual(expected)
      }),
      { numRuns: 500 },
    )
  })
})

/** As a history is read from `from` on. */
function snapshotsOf(record: AccountRecord, from: number): Snapshot[] {
  const base = record.changes.findLastIndex((change) => change.at <= from)
  return record.changes.slice(Math.max(0, base)).map((change) => ({
    at: change.at,
    ...(change.missingSince === undefined ? {} : { missingSince: change.missingSince }),
    series: Object.entries(standingBefore(record, change.at + 1) ?? {}).map(([id, value]) => ({
      ...{ metric: 'customProperties.objectType' as const, objectTypeId: id },
      ...{ ...value, percent: null },
    })),
  }))
}

function valuesOf({ series }: Snapshot): object {
  return Object.fromEntries(series.map(({ objectTypeId, usage, limit }) => [objectTypeId, { usage, limit }]))
}
