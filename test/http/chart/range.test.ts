import { expect, test } from 'vitest'
import { type RangeName, usualRange } from '../../../src/http/pages/account/account-series.ts'

const NOW = Date.parse('2026-11-22T10:00:00.000Z')
const DAY = 86_400_000

test.each<[string, number | undefined, RangeName]>([
  ['one that was never read', undefined, '1h'],
  ['one of this morning', NOW - DAY / 4, '6h'],
  ['one of yesterday', NOW - DAY, '24h'],
  ['one of this week', NOW - 3 * DAY, '7d'],
  ['one of this month', NOW - 20 * DAY, '30d'],
  ['an old one, whose last weeks matter most', NOW - 200 * DAY, '30d'],
])('charts of an account begin with the shortest range that has all there is: %s', (_which, since, range) => {
  expect(usualRange(since, NOW)).toBe(range)
})
