import { describe, expect, test } from 'vitest'
import { describeOver, judgeReceiver, type ReceiverHealth } from '../../src/delivery/receiver-health.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR
const SETTINGS = { unprovenAfterMs: 14 * DAY }

const health = (more: Partial<ReceiverHealth> = {}): ReceiverHealth => ({
  ...{ receiver: 'ops-hook', seenAt: NOW - DAY, lastDeliveredAt: NOW - 2 * HOUR, failures: 0 },
  ...more,
})

describe('what is told of a receiver', () => {
  test.each<[string, Partial<ReceiverHealth>, string | undefined]>([
    ['one that delivers', {}, undefined],
    ['one that has failed for less than an hour', { failingSince: NOW - HOUR + 1, failures: 6 }, undefined],
    ['one that has failed for an hour', { failingSince: NOW - HOUR, failures: 6 }, 'failing'],
    ['one that wants no more', { disabled: 'answered 410' }, 'disabled'],
    ['one that wants no more, and failed before', { disabled: 'x', failingSince: NOW - DAY, failures: 9 }, 'disabled'],
    [
      'one that delivered nothing for two weeks',
      { seenAt: NOW - 90 * DAY, lastDeliveredAt: NOW - 14 * DAY },
      'unproven',
    ],
    ['one that was added yesterday', { seenAt: NOW - DAY }, undefined],
    ['one that came back after long', { seenAt: NOW - DAY, lastDeliveredAt: NOW - 30 * DAY }, undefined],
  ])('%s', (_, more, is) => {
    expect(judgeReceiver(health(more), SETTINGS, NOW)?.is).toBe(is)
  })

  test('a receiver that never delivered is unproven by when it was first seen', () => {
    const { lastDeliveredAt: _, ...fresh } = health({ seenAt: NOW - 14 * DAY })
    expect(judgeReceiver(fresh, SETTINGS, NOW)).toMatchObject({ is: 'unproven', level: 'warning' })
    const { seenAt: __, ...unseen } = fresh
    expect(judgeReceiver(unseen, SETTINGS, NOW)).toBeUndefined()
  })

  test('without drills a quiet receiver is no sign of anything', () => {
    const quiet = health({ seenAt: NOW - 90 * DAY, lastDeliveredAt: NOW - 80 * DAY })
    expect(judgeReceiver(quiet, { unprovenAfterMs: 'never' }, NOW)).toBeUndefined()
  })

  test('says what happened, since when, and what to do', () => {
    const failing = health({ failingSince: NOW - HOUR, failures: 6, lastReason: 'answered 500' })
    expect(judgeReceiver(failing, SETTINGS, NOW)).toEqual({
      is: 'failing',
      level: 'warning',
      message:
        'The receiver ops-hook fails. It delivers nothing since 2026-11-21 08:00 UTC; 6 attempts failed since 2026-11-21 ' +
        '09:00 UTC, the last one: answered 500. Each message is tried again for three days. To see whether it works: ' +
        'plimsoll alerts test ops-hook',
    })
    expect(judgeReceiver(health({ disabled: 'answered 410' }), SETTINGS, NOW)).toMatchObject({
      level: 'critical',
      message: expect.stringMatching(/answered 410.*plimsoll alerts test ops-hook$/),
    })
  })
})

test('what is over says whether it was proven', () => {
  expect(describeOver(health())).toBe('The receiver ops-hook delivers again.')
  const { lastDeliveredAt: _, ...never } = health()
  expect(describeOver(never)).toBe('The receiver ops-hook gets messages again.')
})
