import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatDuration, parseDuration } from '../../config/schema/duration.ts'

test.each([
  ['500ms', 500],
  ['30s', 30_000],
  ['15m', 900_000],
  ['12h', 43_200_000],
  ['7d', 604_800_000],
  ['2w', 1_209_600_000],
  ['1.5h', 5_400_000],
  ['0s', 0],
])('%s is %d ms', (text, milliseconds) => {
  expect(parseDuration(text)).toBe(milliseconds)
})

test.each(['', '30', 's', '30 s', '-1s', '1e3s', '1h30m', '30S', '99999999999999999w'])(
  '%j is not a duration',
  (text) => {
    expect(parseDuration(text)).toBeUndefined()
  },
)

test('what is written is read back', () => {
  fc.assert(
    fc.property(fc.nat(), (milliseconds) => {
      const written = formatDuration(milliseconds)
      expect(written === 0 ? 0 : parseDuration(String(written))).toBe(milliseconds)
    }),
  )
})

test.each([
  [86_400_000, '1d'],
  [90_000, '90s'],
  [1500, '1500ms'],
  [0, 0],
])('%d ms is written %s', (milliseconds, written) => {
  expect(formatDuration(milliseconds)).toBe(written)
})
