import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type DailyPoint,
  daysLeft,
  ENOUGH_POINTS,
  type Forecast,
  forecast,
  HORIZON_DAYS,
  WINDOW_DAYS,
} from '../../../src/limits/forecast/forecast.ts'
import { chance } from '../../support/dice.ts'
import { adding, bell, DAY, daily, happening } from './days.ts'

const steadily = (perDay: number): Forecast => ({ perDay, perDayLow: perDay, perDayHigh: perDay, leap: 0, bend: 0 })
const ranging = (perDay: number, perDayLow: number, perDayHigh: number) => ({
  ...steadily(perDay),
  perDayLow,
  perDayHigh,
})

function risingOf(points: readonly DailyPoint[]): Forecast {
  const told = forecast(points)
  if (typeof told === 'string') throw new Error(told)
  return told
}

test.each([0, 1, 3, 6])('a history of %i days is not enough, with or without gaps', (days) => {
  expect(forecast(daily(days, (n) => n))).toBe('not-enough-history')
  expect(forecast(daily(days, (n) => n).map((point, n) => ({ ...point, day: DAY + 5 * n })))).toBe('not-enough-history')
})

describe('a line', () => {
  const line = fc.record({
    days: fc.integer({ min: ENOUGH_POINTS, max: WINDOW_DAYS }),
    start: fc.integer({ min: 0, max: 1_000_000 }),
    perDay: fc.integer({ min: 1, max: 500 }),
  })

  test('goes on exactly', () => {
    fc.assert(
      fc.property(line, ({ days, start, perDay }) => {
        expect(forecast(daily(days, (n) => start + n * perDay))).toEqual(steadily(perDay))
      }),
    )
  })

  test('has the same pace whatever days are missing', () => {
    const some = fc.uniqueArray(fc.nat(WINDOW_DAYS - 1), { minLength: ENOUGH_POINTS, maxLength: WINDOW_DAYS })
    fc.assert(
      fc.property(line, some, ({ start, perDay }, days) => {
        const points = days.sort((a, b) => a - b).map((n) => ({ day: DAY + n, usage: start + n * perDay }))
        expect(risingOf(points)).toMatchObject(ranging(perDay, perDay, perDay))
      }),
    )
  })

  test('has the same pace whatever one jump lies more than a week back, up or down', () => {
    const jump = fc.record({ on: fc.integer({ min: 1, max: 33 }), by: fc.integer({ min: -100_000, max: 100_000 }) })
    fc.assert(
      fc.property(line, jump, ({ start, perDay }, { on, by }) => {
        const told = risingOf(daily(WINDOW_DAYS, (n) => start + n * perDay + (n >= on ? by : 0)))
        expect(told).toMatchObject({ perDay, leap: 0 })
      }),
    )
  })
})

test('a forecast follows its numbers: moved, and multiplied', () => {
  const added = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: ENOUGH_POINTS, maxLength: WINDOW_DAYS })
  fc.assert(
    fc.property(added, fc.integer({ min: 2, max: 1_000 }), (given, by) => {
      const of = (usage: (one: number) => number) =>
        forecast(adding(given.length, (n) => given[n] ?? 0).map((one) => ({ ...one, usage: usage(one.usage) })))
      const plain = of((one) => one)
      if (typeof plain === 'string') {
        expect([of((one) => one + by), of((one) => one * by)]).toEqual([plain, plain])
        return
      }
      expect(plain.perDayLow).toBeLessThanOrEqual(plain.perDay)
      expect(plain.perDayHigh).toBeGreaterThanOrEqual(plain.perDay)
      expect(of((one) => one + by)).toMatchObject({ perDay: plain.perDay, leap: plain.leap })
      const times = of((one) => one * by) as Forecast
      for (const name of ['perDay', 'perDayLow', 'perDayHigh', 'leap'] as const)
        expect(Math.abs(times[name] - by * plain[name])).toBeLessThanOrEqual(2e-3 * by * Math.abs(plain[name]))
    }),
  )
})

describe('no growth', () => {
  test.each([
    ['stands still', () => 500],
    ['falls', (n: number) => 900 - 3 * n],
    ['goes up and down', (n: number) => 500 + (n % 3)],
    ['fell for the last six days', (n: number) => 500 + 5 * Math.min(n, 35) - 20 * Math.max(0, n - 35)],
    ['made one jump', (n: number) => (n < 21 ? 500 : 700)],
    ['made one jump lately', (n: number) => (n < 39 ? 500 : 700)],
    [
      'has a few odd days',
      (n: number) =>
        new Map([
          [5, 900],
          [6, 20],
          [30, 5_000],
        ]).get(n) ?? 500,
    ],
  ])('is what is told of a series that %s', (_, usageOn) => {
    expect(forecast(daily(WINDOW_DAYS, usageOn))).toBe('no-growth')
  })

  test('is told of nearly all that only errs, or goes up and down by chance', () => {
    const risen = (points: (roll: () => number) => DailyPoint[]) =>
      Array.from({ length: 300 }, (_, seed) => forecast(points(chance(seed)))).filter((one) => one !== 'no-growth')
    expect(risen((roll) => daily(WINDOW_DAYS, () => 500 + Math.round(5 * bell(roll)))).length).toBeLessThan(10)
    expect(risen((roll) => adding(WINDOW_DAYS, () => Math.round(5 * bell(roll)))).length).toBeLessThan(90)
  })
})

describe('the range of the pace', () => {
  test('of days that differ by chance holds the true pace, and says something', () => {
    const told = Array.from({ length: 200 }, (_, seed) => {
      const roll = chance(seed)
      return risingOf(adding(WINDOW_DAYS, () => happening(roll, 2)))
    })
    const holds = told.filter(({ perDayLow, perDayHigh }) => perDayLow <= 2 && perDayHigh >= 2)
    expect(holds.length).toBeGreaterThan(170)
    expect(told.filter(({ perDayLow, perDayHigh }) => perDayHigh - perDayLow < 2).length).toBeGreaterThan(150)
  })

  test('holds a seventh for a count that rises by one a week', () => {
    const { perDayLow, perDayHigh } = risingOf(daily(WINDOW_DAYS, (n) => Math.floor(n / 7)))
    expect(perDayLow).toBeLessThanOrEqual(1 / 7)
    expect(perDayHigh).toBeGreaterThanOrEqual(1 / 7)
  })

  test('allows for a cleanup like the deepest one, once more', () => {
    const cleaned = (by: number) => risingOf(daily(42, (n) => 500 + 10 * n - (n >= 25 ? by : 0)))
    expect(cleaned(60).perDayLow).toBeCloseTo((410 - 60 - 50) / 41, 2)
    expect(daysLeft(610, 1_000, cleaned(300))).toMatchObject({ latest: null })
  })

  test('allows for a step like the largest but one that lasted', () => {
    const withSteps = (...on: number[]) => risingOf(daily(42, (n) => 3 * n + 90 * on.filter((day) => n >= day).length))
    expect(withSteps(20).leap).toBe(0)
    expect(withSteps(20, 30).leap).toBeGreaterThan(80)
    const oddDay = daily(42, (n) => 3 * n + (n === 20 ? 90 : 0))
    expect(risingOf(oddDay).leap).toBe(0)
  })

  test('allows for a pace that quickens or slows down as it did', () => {
    const bend = (perDay: (n: number) => number) => risingOf(adding(42, (n) => Math.round(perDay(n)))).bend
    expect(bend((n) => 40 * 1.05 ** n)).toBeGreaterThan(0.05)
    expect(bend((n) => 400 * 0.95 ** n)).toBeLessThan(-0.05)
    // Growth that has just begun may be by a share of usage.
    expect(bend((n) => (n < 36 ? 0 : 10))).toBeCloseTo(10 / 460, 2)
  })
})

describe('days left', () => {
  test('are what remains by the pace, and by both ends of its range; 0 at the limit and over it', () => {
    expect(daysLeft(900, 1_000, ranging(10, 5, 20))).toEqual({ days: 10, earliest: 5, latest: 20 })
    for (const usage of [1_000, 1_200]) {
      expect(daysLeft(usage, 1_000, steadily(1))).toEqual({ days: 0, earliest: 0, latest: 0 })
    }
  })

  test('are told for three years ahead at most, and how many at most for twelve weeks', () => {
    expect(daysLeft(0, HORIZON_DAYS, steadily(1))).toEqual({ days: HORIZON_DAYS, earliest: HORIZON_DAYS, latest: null })
    expect(daysLeft(0, HORIZON_DAYS + 1, steadily(1))).toBeUndefined()
    expect(daysLeft(0, 84, steadily(1))).toMatchObject({ latest: 84 })
    expect(daysLeft(0, 85, steadily(1))).toMatchObject({ latest: null })
    expect(daysLeft(0, 10, ranging(1, 0, 1))).toMatchObject({ latest: null })
  })

  test('may be fewer by what is added at once, or more by half of it', () => {
    expect(daysLeft(900, 1_000, { ...steadily(10), leap: 30 })).toEqual({ days: 10, earliest: 7, latest: 11.5 })
    expect(daysLeft(900, 1_000, { ...steadily(10), leap: 130 })).toMatchObject({ days: 10, earliest: 0 })
  })

  test('may be fewer by a pace that quickens, and more, or without an end, by one that slows down', () => {
    const bent = (bend: number) => daysLeft(900, 1_000, { ...steadily(10), bend })
    expect(bent(0.1)).toEqual({ days: 10, earliest: expect.closeTo(10 * Math.log(2)), latest: 10 })
    expect(bent(-0.05)).toEqual({ days: 10, earliest: 10, latest: expect.closeTo(20 * Math.log(2)) })
    expect(bent(-0.1)).toEqual({ days: 10, earliest: 10, latest: null })
  })
})
