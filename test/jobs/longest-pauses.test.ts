import { expect, test } from 'vitest'
import { longestPauses } from '../../jobs/clock.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const pollPause = (pollLimits: string) => longestPauses({ refreshTokens: '*/10 * * * * *', pollLimits })['poll-limits']

test.each([
  ['*/15 * * * * *', 15_000],
  ['*/5 * * * *', 5 * MINUTE],
  ['30 3 * * *', 24 * HOUR],
  ['@daily', 24 * HOUR],
])('between two ticks of %s lie %d ms at most', (expression, ms) => {
  expect(pollPause(expression)).toBe(ms)
})

test.each(['*/15 * 9-17 * * 1-5', '* 9-17 * * 1-5', '  0  */20 9-17 * * MON-FRI'])(
  'who ticks in office hours, %s, is not taken for one that stands still at night or over the weekend, whenever that is asked',
  (expression) => {
    expect(pollPause(expression)).toBeGreaterThan(63 * HOUR)
    expect(pollPause(expression)).toBeLessThan(65 * HOUR)
  },
)

test('probes may ask all the time: what was found once for a schedule is known', () => {
  const schedule = { refreshTokens: '*/10 * * * * *', pollLimits: '*/15 * * * * *' }
  expect(longestPauses(schedule)).toBe(longestPauses(schedule))
})
