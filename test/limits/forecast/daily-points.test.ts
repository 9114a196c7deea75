import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dailyPoints, dayOf, UTC_DAY_MS } from '../../../src/limits/forecast/forecast-account.ts'
import type { Snapshot } from '../../../src/limits/history/history.ts'

const FIRST = 20_000
const HOUR = 3_600_000
const at = (day: number, hour = 12) => day * UTC_DAY_MS + hour * HOUR

function overall(when: number, usage: number, missingSince?: number): Snapshot {
  const series = [{ metric: 'customProperties.overall' as const, usage, limit: 1_000, percent: usage / 10 }]
  return { at: when, series, ...(missingSince === undefined ? {} : { missingSince }) }
}

/** [day, usage] of the one series, days counted from FIRST. */
function daysOf(snapshots: Snapshot[], days: number, readUntil: number | undefined = at(FIRST + 100)) {
  const points = dailyPoints(snapshots, { from: FIRST, to: FIRST + days, readUntil: () => readUntil })
  return (points.get('overall') ?? []).map(({ day, usage }) => [day - FIRST, usage])
}

describe('the value of a day', () => {
  test('ends with the day: what is read at midnight is of the next one', () => {
    expect(daysOf([overall(at(FIRST), 1), overall(at(FIRST + 1, 0), 2)], 2)).toEqual([
      [0, 1],
      [1, 2],
    ])
    expect(daysOf([overall(at(FIRST), 1), overall(at(FIRST + 1, 0) - 1, 2)], 1)).toEqual([[0, 2]])
  })

  test('of days that end at another time of day is the one that was last read by then', () => {
    const span = { from: FIRST, to: FIRST + 2, offset: 10 * HOUR, readUntil: () => at(FIRST + 1, 11) }
    const points = dailyPoints(
      [overall(at(FIRST, 9), 1), overall(at(FIRST + 1, 9), 2), overall(at(FIRST + 1, 11), 3)],
      span,
    )
    expect(points.get('overall')?.map(({ usage }) => usage)).toEqual([2, 3])
  })

  test('is none for days that began after the last reading', () => {
    expect(daysOf([overall(at(FIRST), 5)], 4, at(FIRST + 1, 7))).toEqual([
      [0, 5],
      [1, 5],
    ])
    expect(dailyPoints([overall(at(FIRST), 5)], { from: FIRST, to: FIRST + 2, readUntil: () => undefined }).size).toBe(
      0,
    )
  })

  test('is that of each series, under its id, while it exists', () => {
    const type = (usage: number) => ({
      metric: 'customProperties.objectType' as const,
      objectTypeId: 'p1/odd',
      usage,
      limit: 10,
      percent: 10,
    })
    const pair = {
      metric: 'associations.fullest' as const,
      from: '0-1',
      to: '0-2',
      usage: 3,
      limit: null,
      percent: null,
    }
    const snapshots = [[type(1)], [type(2), pair], [pair]].map((series, n): Snapshot => ({ at: at(FIRST + n), series }))
    const points = dailyPoints(snapshots, { from: FIRST, to: FIRST + 3, readUntil: () => at(FIRST + 9) })
    const values = [...points].map(([id, days]) => [
      id,
      days.map(({ day, usage, limit }) => [day - FIRST, usage, limit]),
    ])
    expect(Object.fromEntries(values)).toEqual({
      'type/p1%2Fodd': [
        [0, 1, 10],
        [1, 2, 10],
      ],
      'fullest/0-1/0-2': [
        [1, 3, null],
        [2, 3, null],
      ],
    })
  })

  test('is the last one read by its end, and none before the first reading or wholly in a gap', () => {
    const changes = fc.array(fc.record({ passes: fc.integer({ min: 1, max: 40 }), lost: fc.boolean() }), {
      maxLength: 30,
    })
    fc.assert(
      fc.property(changes, (list) => {
        let now = at(FIRST, 0)
        const snapshots = list.map(({ passes, lost }, n) => {
          const before = now
          now += passes * HOUR
          return overall(now, n, lost && n > 0 ? before : undefined)
        })
        const expected = Array.from({ length: 60 }, (_, day) => {
          const [begins, ends] = [at(FIRST + day, 0), at(FIRST + day + 1, 0)]
          const last = snapshots.findLast((one) => one.at < ends)
          const isLost = snapshots.some((one) => (one.missingSince ?? begins) < begins && one.at >= ends)
          return last === undefined || isLost ? undefined : [day, last.series[0]?.usage]
        })
        expect(daysOf(snapshots, 60)).toEqual(expected.filter((one) => one !== undefined))
      }),
    )
  })
})

test('a day begins at midnight UTC', () => {
  expect(dayOf(Date.parse('2026-11-21T00:00:00Z'))).toBe(dayOf(Date.parse('2026-11-20T23:59:59.999Z')) + 1)
})
