import { describe, expect, test } from 'vitest'
import { nearestLimit } from '../../src/limits/forecast/outlook.ts'
import type { Readings } from '../../src/limits/readings.ts'

const NOW = 1_763_719_200_000
const pace = (perDay: number) => ({ perDay, perDayLow: perDay, perDayHigh: perDay, scatter: 0, shareHigh: 0 })
const told = (rising: Record<string, ReturnType<typeof pace>>) => ({ at: NOW, rising, tooFew: {} })

function readings(overall: number, types: Record<string, number> = {}, fullest = 0): Readings {
  const byObjectType = Object.entries(types).map(([objectTypeId, usage]) => {
    return { objectTypeId, singularLabel: '', pluralLabel: '', limit: 1_000, usage, reportedPercentage: 0 }
  })
  return {
    customProperties: {
      at: NOW,
      report: { overallLimit: 1_000, overallUsage: overall, reportedPercentage: 0, byObjectType },
    },
    associations: { '0-1/0-2': { at: NOW, limit: 1_000, atLimit: 40, nearLimit: 9, fullest } },
  }
}

describe('the limit that an account is nearest to', () => {
  test('is the one with the fewest days left, however full the others are', () => {
    const found = nearestLimit(readings(700, { '0-1': 950 }), told({ overall: pace(30) }), NOW)
    expect(found).toMatchObject({ series: { id: 'overall' }, daysLeft: 10, nearness: 10 })
  })

  test('is one that is reached before all others', () => {
    const found = nearestLimit(readings(999, { '0-1': 1_200 }), told({ overall: pace(1) }), NOW)
    expect(found).toMatchObject({ series: { id: 'type/0-1' }, daysLeft: 0, nearness: 0 })
  })

  test('is the fullest where no days are known', () => {
    const found = nearestLimit(readings(700, { '0-1': 650 }, 912), undefined, NOW)
    expect(found).toMatchObject({ series: { id: 'fullest/0-1/0-2' }, daysLeft: null, nearness: 108.8 })
  })

  test('is none where nothing is half full or full within 90 days: numbers of records have no limit', () => {
    expect(nearestLimit(readings(499, { '0-1': 100 }, 499), told({ overall: pace(5) }), NOW)).toBeUndefined()
    expect(nearestLimit(readings(499), told({ overall: pace(6) }), NOW)?.nearness).toBe(83.5)
    expect(nearestLimit(readings(500), undefined, NOW)?.nearness).toBe(150)
    expect(nearestLimit({ associations: {} }, undefined, NOW)).toBeUndefined()
  })

  test('ranks whose days are known ahead of all whose days are not', () => {
    const known = nearestLimit(readings(100), told({ overall: pace(900 / 89) }), NOW)
    const full = nearestLimit(readings(999), undefined, NOW)
    expect(known?.nearness).toBeLessThan(full?.nearness ?? 0)
  })
})
