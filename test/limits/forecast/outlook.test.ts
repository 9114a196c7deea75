import { describe, expect, test } from 'vitest'
import type { AccountForecasts } from '../../../src/limits/forecast/forecast-account.ts'
import { daysOf, FULL_RANGE, nearestLimit, outlookOf, placesOf, tenths } from '../../../src/limits/forecast/outlook.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { properties, readings as readReports } from '../reports.ts'

const NOW = 1_763_719_200_000
const DAY = 86_400_000
const pace = { perDay: 10, perDayLow: 5, perDayHigh: 20, scatter: 0 }
const told = (more: Partial<AccountForecasts> = {}): AccountForecasts => ({
  at: NOW - DAY,
  rising: { overall: pace },
  tooFew: { 'type/0-1': 3 },
  ...more,
})
const series = (usage: number, limit: number | null = 1_000, id = 'overall') => ({ id, usage, limit })
const none = (daysLeft: number | null | undefined, forecastReason: string) => ({
  daysLeft,
  forecast: null,
  forecastReason,
})

describe('the outlook of a series', () => {
  test('is its pace, and when it reaches the limit as it stands now', () => {
    expect(outlookOf(series(900), told(), NOW)).toEqual({
      daysLeft: 10,
      forecast: { ...pace, days: 10, earliest: 5, latest: 20 },
      forecastReason: null,
    })
    expect(outlookOf(series(900, 1_100), told(), NOW).daysLeft).toBe(20)
  })

  test('is known where it does not get there', () => {
    expect(outlookOf(series(900, 1_000, 'type/0-2'), told(), NOW)).toEqual(none(null, 'no steady growth'))
    expect(outlookOf(series(0, 1_000_000), told(), NOW)).toEqual(
      none(null, 'no limit in sight: more than 3 years away'),
    )
  })

  test('is not known with too little history, no limit, or no forecast of these days', () => {
    expect(outlookOf(series(900, 1_000, 'type/0-1'), told(), NOW)).toEqual({
      ...none(undefined, 'forecasts start after 7 days of data: 3 so far'),
    })
    expect(outlookOf(series(900, null), told(), NOW)).toEqual(none(undefined, 'no limit to reach'))
    const never = none(undefined, 'forecasts start after 7 days of data')
    expect(outlookOf(series(900), undefined, NOW)).toEqual(never)
    const missing = none(undefined, 'no forecast was made in the last 3 days')
    expect(outlookOf(series(900), told({ at: NOW - 3 * DAY - 1 }), NOW)).toEqual(missing)
    expect(outlookOf(series(900), told({ at: NOW - 3 * DAY }), NOW).daysLeft).toBe(10)
  })

  test('at the limit is 0 days, with a forecast or without', () => {
    expect(outlookOf(series(1_000), told(), NOW)).toMatchObject({ daysLeft: 0, forecast: { days: 0 } })
    expect(outlookOf(series(1_001), undefined, NOW)).toMatchObject({ daysLeft: 0, forecast: null })
    expect(outlookOf(series(1_000, 1_000, 'type/0-1'), told(), NOW)).toMatchObject({ daysLeft: 0, forecast: null })
  })
})

test.each([
  [6.449, 6.4],
  [0.04, 0.1],
  [0, 0],
  [0.001, 0.1],
])('%d days are told as %d', (days, as) => {
  expect(tenths(days)).toBe(as)
})

describe('the limit that an account is nearest to', () => {
  const NOW = 1_763_719_200_000
  const pace = (perDay: number) => ({ perDay, perDayLow: perDay, perDayHigh: perDay, scatter: 0 })
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
    expect(alone).toMatchObject({ nearness: -800 })
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
