import { expect, test } from 'vitest'
import { feedsWatchdog } from '../../src/cli/feed-watchdog.ts'
import { judgeHealth } from '../../src/http/health.ts'

const NOW = Date.parse('2026-11-21T10:00:00Z')
const MINUTE = 60_000

const health = (redisOk: boolean, sweptMsAgo: number) =>
  judgeHealth({
    ...{ now: NOW, startedAt: NOW - 60 * MINUTE, redisOk, standstills: {}, expected: { alerts: 5_000 } },
    lastSweeps: redisOk ? { alerts: NOW - sweptMsAgo } : {},
  })

test.each([
  ['sweeps that finish', health(true, 1_000), 0, true],
  ['sweeps that do not', health(true, MINUTE), 0, false],
  ['a Redis that is away: a restart would lose what waits for it', health(false, 0), 14 * MINUTE, true],
  ['a Redis that is away for so long that the fault may be ours', health(false, 0), 15 * MINUTE, false],
])('%s', (_, report, redisAwayMs, isFed) => {
  expect(feedsWatchdog(report, redisAwayMs)).toBe(isFed)
})
