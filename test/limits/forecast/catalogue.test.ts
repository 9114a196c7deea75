import { expect, test } from 'vitest'
import { run } from '../../support/command.ts'
import { ROOT } from '../../support/documents.ts'
import { coverageOf } from './random-histories.ts'
import { outcomeOf, runShape } from './run-shape.ts'
import { SHAPES, type Shape } from './shapes.ts'

test.each(SHAPES)('$name: $outcome', (shape) => {
  const { noticed, wrong, silent, last } = outcomeOf(runShape(shape))
  expect({ noticed, wrong, silent, last }).toEqual(shape.expected)
})

test.each([100, 200, 500, 1_000, 10_000])(
  'growth by 3 percent a day from %i is in the range from day 10 on, whatever the limit',
  (start) => {
    for (const times of [1.6, 2, 3, 5, 10, 30]) {
      const shape: Shape = {
        ...{ name: '', before: 1, days: 200, usage: (n) => Math.round(start * 1.03 ** n), limit: () => start * times },
        ...{ outcome: '', expected: { noticed: 6, wrong: 0, silent: 0, last: null } },
      }
      const said = runShape(shape).filter(({ day }) => day >= 9)
      expect(said.filter(({ isRight }) => !isRight)).toEqual([])
      expect(said.length).toBeGreaterThan(5)
    }
  },
)

test('the range that is stated as holding 80 of 100 truths holds 75 to 90 of them, over 1,000 histories of seven kinds', () => {
  const rows = coverageOf(1_000)
  const sum = (of: 'histories' | 'told' | 'inside') => rows.reduce((all, row) => all + row[of], 0)
  expect(sum('histories')).toBe(1_000)
  expect(sum('told')).toBeGreaterThan(950)
  const share = sum('inside') / sum('told')
  expect(share).toBeGreaterThanOrEqual(0.75)
  expect(share).toBeLessThanOrEqual(0.9)
})

test('one command prints the catalogue and the coverage', async () => {
  const { out } = await run('npm', ['run', '-s', 'forecasts'], ROOT)
  for (const { name } of SHAPES) expect(out).toContain(name)
  expect(out).toMatch(/flat for five weeks, then 10 a day +2 +48 +72\.0 \(25 or more\) +0 of 47/)
  expect(out).toMatch(/all +1000 +\d+ +8\d\.\d %/)
})
