import { expect, test } from 'vitest'
import { coverageOf } from './random-histories.ts'
import { outcomeOf, runShape } from './run-shape.ts'
import { SHAPES } from './shapes.ts'

test.each(SHAPES)('$name', (shape) => {
  expect(outcomeOf(runShape(shape))).toEqual(shape.expected)
})

test.each([100, 200, 500, 1_000, 10_000])(
  'growth by 3 percent a day from %i is in the range from day 10 on, whatever the limit',
  (start) => {
    for (const times of [1.6, 2, 3, 5, 10, 30]) {
      const usage = (n: number) => Math.round(start * 1.03 ** n)
      const said = runShape({ before: 1, days: 200, usage, limit: () => start * times }).filter(({ day }) => day >= 9)
      expect(said.filter(({ isRight }) => !isRight)).toEqual([])
      expect(said.length).toBeGreaterThan(5)
    }
  },
)

test('the range that is stated as holding 80 of 100 truths holds 75 to 90 of them, over 1,000 histories of seven kinds', () => {
  const { told, inside } = coverageOf(1_000)
  expect(told).toBeGreaterThan(950)
  expect(inside / told).toBeGreaterThanOrEqual(0.75)
  expect(inside / told).toBeLessThanOrEqual(0.9)
})
