import { expect, test } from 'vitest'
import { formatSeconds } from '../../src/text/format-number.ts'

test.each([
  [0, '0 ms'],
  [8, '8 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [15_240, '15.2 s'],
])('what took %i ms took %s', (ms, text) => {
  expect(formatSeconds(ms)).toBe(text)
})
