import { afterAll, beforeAll, expect, test } from 'vitest'
import { formatSecond, parseLocalTime, showTimesIn } from '../../src/text/format-time.ts'

beforeAll(() => showTimesIn('Europe/Berlin'))
afterAll(() => showTimesIn(undefined))

test.each([
  ['2026-11-21T10:00', '2026-11-21 10:00:00 CET'],
  ['2026-11-21T10:00:59.5', '2026-11-21 10:00:59 CET'],
  ['2028-02-29T23:59', '2028-02-29 23:59:00 CET'],
  // An hour that is left out, and one that comes twice.
  ['2026-03-29T02:30', '2026-03-29 03:00:00 CEST'],
  ['2026-10-25T02:30', '2026-10-25 02:30:00 CEST'],
])('the local time %s is %s', (text, shown) => {
  expect(formatSecond(parseLocalTime(text) ?? Number.NaN)).toBe(shown)
})

test.each([
  '2026-02-31T10:00',
  '2026-02-29T10:00',
  '2026-13-01T10:00',
  '2026-11-21T24:00',
  '2026-11-21T10:60',
  '2026-11-21T10:00:60',
  '2026-11-21T10:00Z',
  '2026-11-21T10:00+01:00',
  '2026-11-21T10:00junk',
  '2026-11-21',
  '',
])('%j is no local time', (text) => {
  expect(parseLocalTime(text)).toBeUndefined()
})
