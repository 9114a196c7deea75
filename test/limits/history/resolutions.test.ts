import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/limits/history/change.ts'
import type { Snapshot, SnapshotSeries } from '../../../src/limits/history/history.ts'
import { type Regular, regularSeries, spanOf, thinOut, zonesOf } from '../../../src/limits/history/resolutions.ts'
import { type AccountRecord, DAY, HOUR, isMissing, keep, polls, recordOf, START, standingBefore } from './records.ts'

const at = (hours: number) => START + hours * HOUR

/** Ends of hours or days in a range. */
function* endsBetween(from: number, to: number, spanMs: number): Generator<number> {
  for (let end = (Math.floor(from / spanMs) + 1) * spanMs; end <= to; end += spanMs) yield end
}

const scene = fc.record({ polls, keep, later: fc.integer({ min: 0, max: 20 * DAY }) }).map(({ polls, keep, later }) => {
  const record = recordOf(polls)
  const begun = record.changes[0]?.at ?? START
  const now = begun + later
  const thin = (one: AccountRecord, at = now): AccountRecord => ({
    ...one,
    changes: thinOut(one.state, one.changes, at, keep),
  })
  return { record, begun, now, keep, thin, thinned: thin(record), zones: zonesOf(now, keep) }
})

const check = (property: (one: typeof scene extends fc.Arbitrary<infer T> ? T : never) => void) =>
  fc.assert(fc.property(scene, property), { numRuns: 100 })

const sorted = (changes: readonly Change[]) =>
  changes.map((change) => ({ ...change, before: [...change.before].sort(([a], [b]) => (a < b ? -1 : 1)) }))

describe('a thinned record', () => {
  test('has every change of the young part as it was', () => {
    check(({ record, thinned, zones: { rawFrom } }) => {
      const young = ({ changes }: AccountRecord) => changes.filter(({ at }) => at >= rawFrom)
      expect(young(thinned)).toEqual(young(record))
    })
  })

  test('says at the end of every hour, then of every day, what was reported', () => {
    check(({ record, thinned, now, zones: { rawFrom, hourlyFrom, dailyFrom } }) => {
      const last = Math.min(now, (record.changes.at(-1)?.at ?? 0) + DAY)
      const ends = [
        ...endsBetween(hourlyFrom, Math.min(rawFrom, last), HOUR),
        ...endsBetween(dailyFrom, Math.min(hourlyFrom, last), DAY),
      ]
      for (const end of ends) expect(standingBefore(thinned, end)).toEqual(standingBefore(record, end))
    })
  })

  test('has one change an hour, then one a day, then none but the one that stands at its beginning', () => {
    check(({ thinned: { changes }, zones: { rawFrom, hourlyFrom, dailyFrom } }) => {
      const hours = changes.filter(({ at }) => at >= hourlyFrom && at < rawFrom).map(({ at }) => Math.floor(at / HOUR))
      const days = changes.filter(({ at }) => at >= dailyFrom && at < hourlyFrom).map(({ at }) => Math.floor(at / DAY))
      expect(new Set(hours).size).toBe(hours.length)
      expect(new Set(days).size).toBe(days.length)
      expect(changes.filter(({ at }) => at < dailyFrom).length).toBeLessThanOrEqual(1)
    })
  })

  test('keeps each gap that took a whole hour or day, and claims none that there was not', () => {
    check(({ record, thinned, now, zones: { rawFrom, hourlyFrom, dailyFrom } }) => {
      const last = Math.min(now, record.changes.at(-1)?.at ?? 0)
      for (const end of endsBetween(hourlyFrom, Math.min(rawFrom, last), HOUR))
        expect(isMissing(thinned, end - HOUR, end)).toBe(isMissing(record, end - HOUR, end))
      for (const end of endsBetween(dailyFrom, Math.min(hourlyFrom, last), DAY))
        expect(isMissing(thinned, end - DAY, end)).toBe(isMissing(record, end - DAY, end))
    })
  })

  test('names a series only where it changed', () => {
    check(({ thinned, zones: { rawFrom } }) => {
      for (const { at, before } of thinned.changes.slice(1).filter((change) => change.at < rawFrom)) {
        const after = standingBefore(thinned, at + 1)
        for (const [id, was] of before) expect(after?.[id]).not.toEqual(was)
      }
    })
  })

  test('thinned in many steps is the same as thinned once', () => {
    fc.assert(
      fc.property(scene, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }), (one, steps) => {
        const { record, begun, now, thin, thinned } = one
        let stepwise = record
        for (const part of steps.sort((a, b) => a - b)) stepwise = thin(stepwise, begun + part * (now - begun))
        expect(sorted(thin(stepwise).changes)).toEqual(sorted(thinned.changes))
      }),
      { numRuns: 100 },
    )
  })
})

const overall = (usage: number): SnapshotSeries[] => [
  { metric: 'customProperties.overall', usage, limit: 100, percent: usage },
]
const snapshot = (hours: number, usage: number, missingSince?: number): Snapshot => ({
  at: at(hours),
  ...(missingSince === undefined ? {} : { missingSince: at(missingSince) }),
  series: overall(usage),
})

describe('a regular series', () => {
  test('leaves out hours in which nothing was read, and says so at the one that ends them', () => {
    const snapshots = [snapshot(0.2, 1), snapshot(3.5, 1, 0.2), snapshot(4.5, 2, 4.1)]
    const range = { from: at(0), to: at(6), readUntil: at(6) }
    const all = { rawFrom: 0, hourlyFrom: 0 }
    const items = [...regularSeries(snapshots, range, 'hourly', all)]
    expect(items.map(({ at, missingSince, series }) => [at, missingSince, series[0]?.usage])).toEqual([
      [at(1), undefined, 1],
      [at(4), at(0.2), 1],
      [at(5), undefined, 2],
      [at(6), undefined, 2],
    ])
    const cut = { from: at(1), to: at(2.5), readUntil: at(6) }
    expect([...regularSeries(snapshots, cut, 'hourly', all)]).toEqual([])
  })

  test('has none where what is known ends before the range begins', () => {
    const zones = { rawFrom: at(10), hourlyFrom: at(0) }
    const range = { from: at(1.2), to: at(1.7), readUntil: at(20) }
    for (const resolution of ['hourly', 'daily'] as const) {
      expect([...regularSeries([snapshot(0.5, 1)], range, resolution, zones)]).toEqual([])
    }
  })

  const scene = fc.record({
    polls,
    keep,
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
      { numRuns: 100 },
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
      metric: 'customProperties.objectType' as const,
      objectTypeId: id,
      ...value,
      percent: null,
    })),
  }))
}

function valuesOf({ series }: Snapshot): object {
  return Object.fromEntries(series.map(({ objectTypeId, usage, limit }) => [objectTypeId, { usage, limit }]))
}
