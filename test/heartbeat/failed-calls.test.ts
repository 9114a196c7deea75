import { expect, test } from 'vitest'
import {
  CallCounter,
  type CallCounts,
  callsText,
  describeCalls,
  FailedCalls,
  judgeCalls,
} from '../../src/heartbeat/failed-calls.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const DAY = 86_400_000
const NOW = 20_400 * DAY + 3_600_000
const LIMITS = { warning: 0.03, critical: 0.05 }
const of = (failed: number, calls = 1_000, days = 3): CallCounts => ({ calls, failed, days })

test.each<[string, CallCounts, open: 'warning' | 'critical' | undefined, level: 'warning' | 'critical' | undefined]>([
  ['no call was made', of(0, 0), undefined, undefined],
  ['few fail', of(29), undefined, undefined],
  ['3 % fail', of(30), undefined, 'warning'],
  ['nearly 5 % fail', of(49), undefined, 'warning'],
  ['5 % fail', of(50), undefined, 'critical'],
  ['all of a few calls fail', of(499, 499), undefined, undefined],
  ['as many calls as count fail', of(500, 500), undefined, 'critical'],
  ['all of many calls fail, and there is no whole day of them', of(1_000, 1_000, 2), undefined, undefined],
  ['a warning is open, and a little less fail', of(28), 'warning', 'warning'],
  ['a warning is open, and a tenth less fail', of(26), 'warning', undefined],
  ['a warning gets worse', of(50), 'warning', 'critical'],
  ['a critical one is open, and a little less fail', of(46), 'critical', 'critical'],
  ['a critical one is open, and a tenth less fail', of(44), 'critical', 'warning'],
  ['a critical one is open, and few fail', of(28), 'critical', 'warning'],
  ['a critical one is open, and hardly any fail', of(3), 'critical', undefined],
])('the level when %s', (_, counts, open, level) => {
  expect(judgeCalls(counts, LIMITS, open)).toBe(level)
})

test.each<[CallCounts, string]>([
  [of(0, 0), 'no calls in 30 days (HubSpot allows 5 %)'],
  [of(0, 1), '0 % of 1 call failed in 30 days (HubSpot allows 5 %)'],
  [of(4_817, 1_204_332), '0.4 % of 1,204,332 calls failed in 30 days (HubSpot allows 5 %)'],
  [of(1, 1_204_332), '< 0.1 % of 1,204,332 calls failed in 30 days (HubSpot allows 5 %)'],
])('%o are %s', (counts, says) => {
  expect(callsText(counts)).toBe(says)
})

test('the alert says how bad it is, what is asked for and where to look', () => {
  expect(describeCalls(of(50), 'critical')).toMatch(
    /^5 % of 1,000 calls failed in 30 days \(HubSpot allows 5 %\)\. HubSpot asks .* 95 % .* plimsoll_provider_requests_total /,
  )
  expect(describeCalls(of(1), undefined)).toBe(
    'Calls to HubSpot succeed again: 0.1 % of 1,000 calls failed in 30 days (HubSpot allows 5 %).',
  )
})

function opened() {
  const keys = redis.freshKeys()
  const counter = new CallCounter()
  const failedCalls = new FailedCalls(redis.store, keys, LIMITS)
  const note = (...statuses: (number | undefined)[]) => {
    for (const status of statuses) counter.note(status)
  }
  return {
    keys,
    note,
    handOver: (now = NOW) => counter.handOver(redis.store, keys, now),
    read: (now = NOW) => failedCalls.read(now),
  }
}

test('answers count, those of status 400 and above failed; a call without an answer does not count', async () => {
  const { note, handOver, read } = opened()
  note(200, 204, 302, 400, 401, 403, 404, 429, 477, 500, 503, undefined, undefined)
  expect(await read()).toEqual(of(0, 0, 0))
  await handOver()
  expect(await read()).toEqual(of(8, 11, 1))
})

test('counts of several processes and hand-overs add up; where there is none nothing is sent', async () => {
  const { keys, note, handOver, read } = opened()
  await handOver()
  expect(await redis.store.exists(keys.dayCounts)).toBe(0)
  const other = new CallCounter()
  other.note(500)
  await other.handOver(redis.store, keys, NOW)
  note(200, 200)
  await handOver()
  await handOver()
  note(404)
  await handOver()
  expect(await read()).toEqual(of(2, 4, 1))
})

test('30 days count, and never more than that are kept', async () => {
  const { keys, note, handOver, read } = opened()
  note(200, 500)
  await handOver()
  note(200)
  await handOver(NOW + 29 * DAY)
  expect(await read(NOW + 29 * DAY)).toEqual(of(1, 3, 30))
  expect(await read(NOW + 30 * DAY)).toEqual(of(0, 1, 2))
  note(500)
  await handOver(NOW + 30 * DAY)
  expect(await redis.store.hgetall(keys.dayCounts)).toEqual({
    '20429:calls': '1',
    '20430:calls': '1',
    '20430:failed': '1',
  })
})

test('what Redis refuses is handed over the next time', async () => {
  const { keys, note, read } = opened()
  note(500)
  const counter = new CallCounter()
  counter.note(500)
  const away = redis.connect('pages')
  away.disconnect()
  await expect(counter.handOver(away, keys, NOW)).rejects.toThrow()
  counter.note(200)
  await counter.handOver(redis.store, keys, NOW)
  expect(await read()).toEqual(of(1, 2, 1))
})

test('what can not be read counts nothing, and is replaced', async () => {
  const { keys, note, handOver, read } = opened()
  await redis.store.hset(keys.dayCounts, { '20400:failed': '7', '20399:calls': 'many', x: '1', '20400:other': '3' })
  expect(await read()).toEqual(of(7, 7, 1))
  await redis.store.del(keys.dayCounts)
  await redis.store.set(keys.dayCounts, 'x')
  expect(await read()).toEqual(of(0, 0, 0))
  note(200)
  await handOver()
  note(200)
  await handOver()
  expect(await read()).toEqual(of(0, 1, 1))
})
