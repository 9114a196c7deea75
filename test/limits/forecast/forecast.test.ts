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
    perDay,
    perDayLow,
    perDayHigh,
    scatter: 0,
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

  test('are told for three years ahead at most, and how many at most for twelve weeks', () => {
    expect(daysLeft(0, HORIZON_DAYS, pace(1))).toEqual({ days: HORIZON_DAYS, earliest: HORIZON_DAYS, latest: null })
    expect(daysLeft(0, 84, pace(1))).toMatchObject({ latest: 84 })
    expect(daysLeft(0, 85, pace(1))).toMatchObject({ latest: null })
    expect(daysLeft(0, HORIZON_DAYS + 1, pace(1))).toBe('not-in-sight')
    expect(daysLeft(0, 1_000, pace(1, 0.5, 2))).toEqual({ days: 1_000, earliest: 500, latest: null })
  })

  test('come down by one a day on a line, until it is full', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 84 }), (perDay, days) => {
        const points = daily(WINDOW_DAYS, (n) => n * perDay)
        const usage = points.at(-1)?.usage ?? 0
        expect(daysLeft(usage, usage + days * perDay, risingOf(points))).toEqual({ days, earliest: days, latest: days })
      }),
    )
  })

  test('may be fewer by what is added at once, and by a pace that quickens', () => {
    expect(daysLeft(900, 1_000, { ...pace(10), leap: 30 })).toEqual({ days: 10, earliest: 7, latest: 10 })
    expect(daysLeft(900, 1_000, { ...pace(10), leap: 130 })).toMatchObject({ days: 10, earliest: 0 })
    const bends = { quickening: { perDay: 10, share: 0.1 }, slowing: { perDay: 10, share: 0 } }
    const sooner = daysLeft(900, 1_000, { ...pace(10), bends })
    expect(sooner).toEqual({ days: 10, earliest: expect.closeTo(10 * Math.log(2)), latest: 10 })
  })

  test('may be more, or without an end, by a pace that slows down', () => {
    const slowing = (share: number) => ({ quickening: { perDay: 10, share: 0 }, slowing: { perDay: 10, share } })
    const later = daysLeft(900, 1_000, { ...pace(10), bends: slowing(-0.05) })
    expect(later).toEqual({ days: 10, earliest: 10, latest: expect.closeTo(20 * Math.log(2)) })
    expect(daysLeft(900, 1_000, { ...pace(10), bends: slowing(-0.1) })).toMatchObject({ days: 10, latest: null })
  })
})

describe('what may come between', () => {
  test('is nothing on a line', () => {
    expect(Object.keys(risingOf(daily(42, (n) => 3 * n)))).toEqual(['perDay', 'perDayLow', 'perDayHigh', 'scatter'])
  })

  test('is a step like the largest but one: the largest may be one of its kind', () => {
    const withSteps = (...on: number[]) => daily(42, (n) => 3 * n + 90 * on.filter((day) => n >= day).length)
    expect(risingOf(withSteps(20)).leap).toBeUndefined()
    expect(risingOf(withSteps(20, 30)).leap).toBeGreaterThan(80)
  })

  test('is a cleanup like the deepest one, once more', () => {
    const cleaned = (by: number) => daily(42, (n) => 500 + 10 * n - (n >= 25 ? by : 0))
    expect(risingOf(cleaned(60)).perDayLow).toBeCloseTo((410 - 60 - 50) / 41, 5)
    expect(risingOf(cleaned(300)).perDayLow).toBeLessThan(0)
    expect(daysLeft(910 - 300, 1_000, risingOf(cleaned(300)))).toMatchObject({ latest: null })
  })
})
