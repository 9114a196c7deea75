import { expect, test } from 'vitest'
import {
  daysLeftText,
  formatCount,
  formatDaysLeft,
  formatDistance,
  formatPercent,
  formatSeconds,
} from '../../src/text/format-number.ts'

test.each([
  [0, '0 ms'],
  [8, '8 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [15_240, '15.2 s'],
])('what took %i ms took %s', (ms, text) => {
  expect(formatSeconds(ms)).toBe(text)
})

test.each([0, 7, 999, 1_000, 1_234_567, 99.5, -0.4, -1_234, 1e15])('%d is written as Intl writes it', (count) => {
  expect(formatCount(count)).toBe(new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 }).format(count))
})

test.each([
  [100, '100 %'],
  [99.96, '99.9 %'],
  [1_000.04, '1,000 %'],
])('%d percent: %s', (percent, text) => {
  expect(formatPercent(percent)).toBe(text)
})

test.each([
  [0, 'full'],
  [-1, 'full'],
  [0.1, 'less than a day'],
  [1, '1 day'],
  [6.9, '6 days'],
  [1_000, '1,000 days'],
])('%d days: %s', (days, text) => {
  expect(formatDaysLeft(days)).toBe(text)
})

test.each([
  [12, { earliest: 9.9, latest: 19.1 }, ' (9 to 20)'],
  [12, { earliest: 9, latest: null }, ' (9 or more)'],
  [12, { earliest: 9 }, ' (9 or more)'],
  [12, { earliest: 12, latest: 12 }, ''],
  [12.5, { earliest: 12.2, latest: 12.9 }, ''],
])('the range of %d days, %o', (days, range, text) => {
  expect([formatDaysLeft(days, range), daysLeftText(days, range)]).toEqual([`12 days${text}`, `12 days left${text}`])
})

test.each([
  [0, 'now'],
  [400, 'now'],
  [-60_200, '1 min ago'],
  [90_000, 'in 90 s'],
  [-3_600_000, '1 h ago'],
  [119.7 * 60_000, 'in 2 h'],
  [47.7 * 3_600_000, 'in 2 days'],
  [-17.6 * 60_000, '18 min ago'],
  [4 * 3_600_000 - 1_000, 'in 4 h'],
  [-50 * 3_600_000, '2 days ago'],
])('%d ms away: %s', (ms, text) => {
  expect(formatDistance(ms)).toBe(text)
})
