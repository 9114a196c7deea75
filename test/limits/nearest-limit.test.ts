import { describe, expect, test } from 'vitest'
import { daysOf, FULL_RANGE, nearestLimit, placesOf } from '../../src/limits/nearest-limit.ts'
import type { Readings } from '../../src/limits/readings.ts'
import { properties, readings as readReports } from './reports.ts'

describe('the limit that an account is nearest to', () => {
  const NOW = 1_763_719_200_000
  const pace = (perDay: number) => ({ perDay, perDayLow: perDay, perDayHigh: perDay, leap: 0, bend: 0 })
  const told = (rising: Record<string, ReturnType<typeof pace>>) => ({ at: NOW, rising, tooFew: {} })

  function readings(overall: number, types: Record<string, number> = {}, fullest = 0): Readings {
    const each = Object.entries(types).map(([id, usage]): [string, [number, number]] => [id, [usage, 1_000]])
    const pair = { from: '0-1', to: '0-2' }
    const values = [
      { metric: 'associations.atLimit', ...pair, usage: 40, limit: 0 },
      { metric: 'associations.fullest', ...pair, usage: fullest, limit: 1_000 },
    ]
    return {
      ...readReports(NOW, properties(overall, 1_000, Object.fromEntries(each))),
      'associations/0-1/0-2': { at: NOW, values },
    }
  }

  test('is the one with the fewest days left, however full the others are', () => {
    const found = nearestLimit(readings(700, { '0-1': 950 }), told({ overall: pace(30) }), NOW)
    expect(found).toMatchObject({ series: { id: 'overall' }, daysLeft: 10, nearness: 10 })
  })

  test('is one that is reached before all others, and the rank still has what fills up next', () => {
    const found = nearestLimit(readings(990, { '0-1': 1_200 }), told({ overall: pace(1) }), NOW)
    expect(found).toMatchObject({ series: { id: 'type/0-1' }, daysLeft: 0, nearness: -990 })
    expect(placesOf(10.3)).toEqual([10.3, -989.7])
    expect(placesOf(10.3).map(daysOf)).toEqual([10.3, 10.3])
    const unknown = nearestLimit(readings(990, { '0-1': 1_200 }), undefined, NOW)
    expect(unknown).toMatchObject({ series: { id: 'type/0-1' }, daysLeft: 0, nearness: -899 })
    const alone = nearestLimit(readings(100, { '0-1': 1_200 }), undefined, NOW)
    expect(alone).toMatchObject({ nearness: -810 })
    for (const nearness of [found, unknown, alone].map((one) => one?.nearness ?? 0)) {
      expect(nearness).toBeGreaterThan(FULL_RANGE.from)
      expect(nearness).toBeLessThan(FULL_RANGE.to)
    }
  })

  test('that is only hours away is not ranked as a full one', () => {
    expect(nearestLimit(readings(999), told({ overall: pace(50) }), NOW)?.nearness).toBe(0.1)
  })

  test('is the fullest where no days are known', () => {
    const found = nearestLimit(readings(700, { '0-1': 650 }, 912), undefined, NOW)
    expect(found).toMatchObject({ series: { id: 'fullest/0-1/0-2' }, daysLeft: null, nearness: 108.8 })
  })

  test('is none where nothing is half full or full within 90 days: numbers of records have no limit', () => {
    expect(nearestLimit(readings(499, { '0-1': 100 }, 499), told({ overall: pace(5) }), NOW)).toBeUndefined()
    expect(nearestLimit(readings(499), told({ overall: pace(6) }), NOW)?.nearness).toBe(83.5)
    expect(nearestLimit(readings(500), undefined, NOW)?.nearness).toBe(150)
    expect(nearestLimit({}, undefined, NOW)).toBeUndefined()
  })

  test('ranks whose days are known ahead of all whose days are not', () => {
    const known = nearestLimit(readings(100), told({ overall: pace(900 / 89) }), NOW)
    const full = nearestLimit(readings(999), undefined, NOW)
    expect(known?.nearness).toBeLessThan(full?.nearness ?? 0)
  })
})
