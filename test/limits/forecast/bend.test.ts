import { expect, test } from 'vitest'
import { bendsOf, daysAlong } from '../../../src/limits/forecast/bend.ts'
import { steadyPace } from '../../../src/limits/forecast/pace.ts'
import { adding, bell, daily, dice } from './days.ts'

const bends = (points: ReturnType<typeof daily>) => bendsOf(points, steadyPace(points))

test('a line has no bend', () => {
  expect(bends(daily(42, (n) => 7 * n))).toBeUndefined()
})

test('a pace that falls by 5 % a day is known as it is today, and that it comes no farther than twenty times that', () => {
  const found = bends(daily(42, (n) => Math.round(20_000 * (1 - 0.95 ** n))))
  expect(found?.slowing.share).toBeLessThanOrEqual(-0.05)
  expect(found?.slowing.share).toBeGreaterThan(-0.07)
  expect(found?.slowing.perDay).toBeGreaterThan(80)
  expect(found?.slowing.perDay).toBeLessThan(130)
  expect(found?.quickening.share).toBe(0)
})

test('a pace that rises by 5 % a day, likewise', () => {
  const found = bends(daily(42, (n) => Math.round(200 * 1.05 ** n)))
  expect(found?.quickening.share).toBeGreaterThanOrEqual(0.05)
  expect(found?.quickening.share).toBeLessThan(0.07)
  expect(found?.slowing.share).toBe(0)
})

test('days that err leave room for both, and more of it for the sooner end', () => {
  const roll = dice(5)
  const found = bends(adding(42, () => Math.round(40 + 10 * bell(roll))))
  expect(found?.quickening.share).toBeGreaterThan(0)
  expect(found?.slowing.share).toBeLessThan(0)
  expect((found?.quickening.share ?? 0) - (found?.slowing.share ?? 0)).toBeLessThan(0.02)
})

test('growth that has just begun may be by a share of usage', () => {
  const pace = { perDay: 10, perDayLow: 8, perDayHigh: 11, scatter: 0 }
  const points = daily(42, (n) => 500 + 10 * Math.max(0, n - 36))
  expect(bendsOf(points, pace)).toEqual({
    quickening: { perDay: 11, share: 0.02 },
    slowing: { perDay: 10, share: 0 },
  })
})

test('days along a bend', () => {
  expect(daysAlong({ perDay: 10, share: 0 }, 100)).toBe(10)
  expect(daysAlong({ perDay: 10, share: 0.1 }, 100)).toBeCloseTo(10 * Math.log(2), 9)
  expect(daysAlong({ perDay: 10, share: -0.1 }, 50)).toBeCloseTo(10 * Math.log(2), 9)
  expect(daysAlong({ perDay: 10, share: -0.1 }, 100)).toBe(Number.POSITIVE_INFINITY)
})
