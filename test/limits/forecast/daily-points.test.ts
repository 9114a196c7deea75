import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { dailyPoints } from '../../../src/limits/forecast/forecast-account.ts'
import type { Snapshot } from '../../../src/limits/history/history.ts'

const HOUR = 3_600_000
/** The window ends at a quarter to eight. */
const NOW = Date.UTC(2026, 10, 21, 7, 45)
/** So many hours after that day of the window began. */
const at = (day: number, hour = 12) => NOW + ((day - WINDOW_DAYS) * 24 + hour) * HOUR

function overall(when: number, usage: number, missingSince?: number): Snapshot {
  const series = [{ metric: 'customProperties.overall' as const, usage, limit: 1_000, percent: usage / 10 }]
  return { at: when, series, ...(missingSince === undefined ? {} : { missingSince }) }
}

/** [day, usage] of the one series in the first days of the window. */
function daysOf(snapshots: Snapshot[], days: number, readUntil: number | undefined = NOW) {
  const points = dailyPoints(snapshots, NOW, () => readUntil).get('overall') ?? []
  return points.filter(({ day }) => day < days).map(({ day, usage }) => [day, usage])
}

describe('the value of a day', () => {
  test('is none for days that began after the last reading', () => {
    expect(daysOf([overall(at(0), 5)], 4, at(1, 7))).toEqual([
      [0, 5],
      [1, 5],
    ])
    expect(dailyPoints([overall(at(0), 5)], NOW, () => undefined).size).toBe(0)
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
    const from = WINDOW_DAYS - 3
    const snapshots = [[type(1)], [type(2), pair], [pair]].map((series, n): Snapshot => ({ at: at(from + n), series }))
    const points = dailyPoints(snapshots, NOW, () => NOW)
    const values = [...points].map(([id, days]) => [
      id,
      days.map(({ day, usage, limit }) => [day - from, usage, limit]),
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
        let now = at(0, 0)
        const snapshots = list.map(({ passes, lost }, n) => {
          const before = now
          now += passes * HOUR
          return overall(now, n, lost && n > 0 ? before : undefined)
        })
        const expected = Array.from({ length: WINDOW_DAYS }, (_, day) => {
          const [begins, ends] = [at(day, 0), at(day + 1, 0)]
          const last = snapshots.findLast((one) => one.at < ends)
          const isLost = snapshots.some((one) => (one.missingSince ?? begins) < begins && one.at >= ends)
          return last === undefined || isLost ? undefined : [day, last.series[0]?.usage]
        })
        expect(daysOf(snapshots, WINDOW_DAYS)).toEqual(expected.filter((one) => one !== undefined))
      }),
    )
  })
})
