import { expect, test } from 'vitest'
import { longestPauses } from '../../jobs/clock.ts'

const NOW = 1_763_719_200_000
const TIMES = { refreshTokens: '*/10 * * * * *', pollLimits: '0 */15 * * * *' }

test('the longest pause of each kind is told', () => {
  expect(longestPauses(TIMES, NOW)).toMatchObject({
    'refresh-tokens': 10_000,
    'poll-limits': 900_000,
    alerts: 5_000,
    digests: 60_000,
  })
})

test('whoever asks again and again costs nothing: it is worked out once a minute, and for another schedule at once', () => {
  const first = longestPauses(TIMES, NOW)
  expect(longestPauses(TIMES, NOW + 59_000)).toBe(first)
  expect(longestPauses(TIMES, NOW + 60_000)).not.toBe(first)
  expect(longestPauses({ ...TIMES, pollLimits: '*/30 * * * * *' }, NOW)['poll-limits']).toBe(30_000)
})
