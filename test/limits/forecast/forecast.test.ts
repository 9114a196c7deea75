import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { daysLeft, type Forecast, forecast, HORIZON_DAYS, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import type { DailyPoint } from '../../../src/limits/forecast/pace.ts'
import { daily } from './days.ts'

function risingOf(points: readonly DailyPoint[]): Forecast {
  const told = forecast(points)
  if (typeof told === 'string') throw new Error(told)
  return told
}

describe('history that is short', () => {
  test.each([0, 1, 3, 6])('of %i days is not enough', (days) => {
    expect(forecast(daily(days, (n) => n))).toBe('not-enough-history')
  })

  test('is enough with seven days, also where days are missing between them', () => {
    expect(risingOf(daily(7, (n) => 2 * n)).perDay).toBe(2)
    expect(risingOf(daily(7, (n) => n * 9).map(({ day, usage }, n) => ({ day: day + 2 * n, usage }))).perDay).toBe(3)
  })
})

describe('no growth', () => {
  test.each([
    ['stands still', () => 500],
    ['falls', (n: number) => 900 - 3 * n],
    ['goes up and down', (n: number) => 500 + (n % 3)],
    ['fell for the last six days', (n: number) => 500 + 5 * Math.min(n, 35) - 20 * Math.max(0, n - 35)],
    ['made one jump', (n: number) => (n < 39 ? 500 : 700)],
  ])('is what is told of a series that %s', (_, usageOn) => {
    expect(forecast(daily(WINDOW_DAYS, usageOn))).toBe('no-growth')
  })
})

describe('days left', () => {
  const pace = (perDay: number, perDayLow = perDay, perDayHigh = perDay): Forecast => ({
    ...{ perDay, perDayLow, perDayHigh, scatter: 0, shareHigh: 0 },
  })

  test('are what remains by the pace, and by both ends of its range', () => {
    expect(daysLeft(900, 1_000, pace(10, 5, 20))).toEqual({ days: 10, earliest: 5, latest: 20 })
  })

  test('are 0 at the limit and over it, whatever is known of the pace', () => {
    for (const known of [pace(1), undefined]) {
      expect(daysLeft(1_000, 1_000, known)).toEqual({ days: 0, earliest: 0, latest: 0 })
      expect(daysLeft(1_200, 1_000, known)).toMatchObject({ days: 0 })
    }
  })

  test('are none without a pace, or without a limit', () => {
    expect(daysLeft(900, 1_000, undefined)).toBe('no-growth')
    expect(daysLeft(900, null, pace(1))).toBe('no-limit')
  })

  test('are told for three years ahead at most', () => {
    expect(daysLeft(0, HORIZON_DAYS, pace(1))).toEqual({ days: HORIZON_DAYS, earliest: HORIZON_DAYS, latest: 1095 })
    expect(daysLeft(0, HORIZON_DAYS + 1, pace(1))).toBe('not-in-sight')
    expect(daysLeft(0, 1_000, pace(1, 0.5, 2))).toEqual({ days: 1_000, earliest: 500, latest: null })
  })

  test('come down by one a day on a line, until it is full', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 300 }), (perDay, days) => {
        const points = daily(WINDOW_DAYS, (n) => n * perDay)
        const usage = points.at(-1)?.usage ?? 0
        expect(daysLeft(usage, usage + days * perDay, risingOf(points))).toEqual({ days, earliest: days, latest: days })
      }),
    )
  })
})
