import { expect, test } from 'vitest'
import { growthBetween } from '../../../src/limits/findings.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { seriesOf } from '../../../src/limits/series.ts'
import { associations, properties, readings } from '../reports.ts'

const DAY = 86_400_000

function growth(before: Readings, after: Readings) {
  return Object.fromEntries(growthBetween(before, after, seriesOf(after)))
}

test('growth is usage per day, from one reading of a series to the next', () => {
  const before = readings(0, properties(100, 1_000, { '0-1': [50, 100], '0-2': [5, 100] }))
  const after = readings(DAY / 2, properties(110, 1_000, { '0-1': [45, 100], '0-2': [5, 100], '0-3': [9, 100] }))
  expect(growth(before, after)).toEqual({ overall: 20, 'type/0-1': -10, 'type/0-2': 0 })
})

test('a limit that moved is not growth', () => {
  expect(growth(readings(0, properties(100, 1_000)), readings(DAY, properties(100, 200)))).toEqual({ overall: 0 })
})

test('a report that was not read anew says nothing of growth', () => {
  const pair = readings(0, undefined, { '0-1/0-2': associations(100, [90]) })
  const after = { ...readings(DAY, properties(7)), associations: pair.associations }
  expect(growth({ ...readings(0, properties(5)), associations: pair.associations }, after)).toEqual({ overall: 2 })
})

test('a record that comes into sight has not grown from nothing', () => {
  const before = readings(0, undefined, { '0-1/0-2': associations(100) })
  const after = readings(DAY, undefined, { '0-1/0-2': associations(100, [90]) })
  expect(growth(before, after)).toEqual({ 'at/0-1/0-2': 0, 'near/0-1/0-2': 1 })
})
