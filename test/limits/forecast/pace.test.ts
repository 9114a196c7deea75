import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ENOUGH_POINTS, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { CONFIDENCE, steadyPace, type UsagePace } from '../../../src/limits/forecast/pace.ts'
import { adding, bell, DAY, daily, dice, happening } from './days.ts'

describe('the pace of a line', () => {
  const line = fc.record({
    days: fc.integer({ min: ENOUGH_POINTS, max: WINDOW_DAYS }),
    start: fc.integer({ min: 0, max: 1_000_000 }),
    perDay: fc.integer({ min: -500, max: 500 }),
  })

  test('is exact, and its range is no wider', () => {
    fc.assert(
      fc.property(line, ({ days, start, perDay }) => {
        expect(steadyPace(daily(days, (n) => start + n * perDay))).toEqual({
          perDay,
          perDayLow: perDay,
          perDayHigh: perDay,
          scatter: 0,
        })
      }),
    )
  })

  test('is the same whatever days are missing', () => {
    const some = fc.uniqueArray(fc.nat(WINDOW_DAYS - 1), { minLength: ENOUGH_POINTS, maxLength: WINDOW_DAYS })
    fc.assert(
      fc.property(line, some, ({ start, perDay }, days) => {
        const points = days.sort((a, b) => a - b).map((n) => ({ day: DAY + n, usage: start + n * perDay }))
        expect(steadyPace(points).perDay).toBe(perDay)
      }),
    )
  })

  test('is the same whatever one jump lies in it, up or down, on whatever day', () => {
    const jump = fc.record({ at: fc.nat(), by: fc.integer({ min: -100_000, max: 100_000 }) })
    fc.assert(
      fc.property(line, jump, ({ days, start, perDay }, { at, by }) => {
        const from = 1 + (at % (days - 1))
        const told = steadyPace(daily(days, (n) => start + n * perDay + (n >= from ? by : 0)))
        expect(told).toEqual({ perDay, perDayLow: perDay, perDayHigh: perDay, scatter: 0 })
      }),
    )
  })

  test('follows its numbers: moved, multiplied, turned upside down', () => {
    const usages = fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: ENOUGH_POINTS, maxLength: WINDOW_DAYS })
    fc.assert(
      fc.property(usages, fc.integer({ min: 1, max: 1_000 }), (given, by) => {
        const of = (usage: (one: number) => number) => steadyPace(daily(given.length, (n) => usage(given[n] ?? 0)))
        const plain = of((one) => one)
        const near = (found: UsagePace, perDay: number, low: number, high: number) => {
          for (const [is, wanted] of [
            [found.perDay, perDay],
            [found.perDayLow, low],
            [found.perDayHigh, high],
          ] as const)
            expect(Math.abs(is - wanted)).toBeLessThan(1e-6 * (1 + Math.abs(wanted)))
        }
        expect(plain.perDayLow).toBeLessThanOrEqual(plain.perDay)
        expect(plain.perDayHigh).toBeGreaterThanOrEqual(plain.perDay)
        near(
          of((one) => one + by),
          plain.perDay,
          plain.perDayLow,
          plain.perDayHigh,
        )
        near(
          of((one) => one * by),
          plain.perDay * by,
          plain.perDayLow * by,
          plain.perDayHigh * by,
        )
        near(
          of((one) => -one),
          -plain.perDay,
          -plain.perDayHigh,
          -plain.perDayLow,
        )
      }),
    )
  })
})

describe('what is no growth', () => {
  test('a jump among days that go up and down', () => {
    const paces = Array.from({ length: 100 }, (_, seed) => {
      const roll = dice(seed)
      return steadyPace(daily(42, (n) => (n < 21 ? 500 : 700) + Math.round(2 * bell(roll))))
    })
    for (const { perDayHigh } of paces) expect(perDayHigh).toBeLessThan(1)
    expect(paces.filter(({ perDayLow }) => perDayLow > 0).length).toBeLessThan((1 - CONFIDENCE) * paces.length)
  })

  test('a few odd days', () => {
    const odd = new Map([
      [5, 900],
      [6, 20],
      [30, 5_000],
    ])
    const told = steadyPace(daily(42, (n) => odd.get(n) ?? 500))
    expect(told.perDay).toBe(0)
    expect(told.perDayLow).toBeLessThanOrEqual(0)
  })
})

describe('the range', () => {
  test('is not so wide that it says nothing', () => {
    const roll = dice(1)
    const { perDay, perDayLow, perDayHigh } = steadyPace(adding(WINDOW_DAYS, () => happening(roll, 2)))
    expect(perDayHigh - perDayLow).toBeLessThan(1.5)
    expect(Math.abs(perDay - 2)).toBeLessThan(0.7)
    const noise = steadyPace(daily(WINDOW_DAYS, (n) => 400 + 2 * n + 2 * bell(roll)))
    expect(noise.perDayHigh - noise.perDayLow).toBeLessThan(1)
  })

  test('of a count that rises by one a week rises too, and holds a seventh', () => {
    const { perDayLow, perDayHigh } = steadyPace(daily(WINDOW_DAYS, (n) => Math.floor(n / 7)))
    expect(perDayLow).toBeGreaterThan(0)
    expect(perDayLow).toBeLessThanOrEqual(1 / 7)
    expect(perDayHigh).toBeGreaterThanOrEqual(1 / 7)
  })

  test('of a series that got stuck for its last days holds the pace from before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 50 }), (stuck, perDay) => {
        const top = (WINDOW_DAYS - 1 - stuck) * perDay
        const told = steadyPace(daily(WINDOW_DAYS, (n) => Math.min(top, n * perDay)))
        expect(told.perDay).toBe(perDay)
        expect(told.perDayHigh).toBeGreaterThanOrEqual(perDay)
        expect(told.perDayLow).toBeLessThanOrEqual(perDay)
      }),
    )
  })

  test('seldom rises where nothing does', () => {
    const up = Array.from({ length: 400 }, (_, seed) => {
      const roll = dice(seed)
      return steadyPace(adding(WINDOW_DAYS, () => Math.round(bell(roll)))).perDayLow > 0
    })
    expect(up.filter(Boolean).length).toBeLessThan(0.1 * up.length)
  })
})
