import { expect, test } from 'vitest'
import { LineQuota } from '../../src/runtime/line-quota.ts'

test('so many lines a minute are written, and the next one after them says how many are missing', () => {
  const quota = new LineQuota(2)
  expect([0, 1, 2, 3, 59_999].map((now) => quota.take(now))).toEqual([0, 0, undefined, undefined, undefined])
  expect([60_000, 60_001, 60_002].map((now) => quota.take(now))).toEqual([3, 0, undefined])
})

test('a clock that was set back does not silence the log', () => {
  const quota = new LineQuota(1)
  expect([3_600_000, 3_600_001, 0].map((now) => quota.take(now))).toEqual([0, undefined, 1])
})
