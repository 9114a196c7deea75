import { describe, expect, test } from 'vitest'
import { describeOver, judgeReceiver, type ReceiverHealth } from '../../src/delivery/receiver-health.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR

const health = (more: Partial<ReceiverHealth> = {}): ReceiverHealth => ({
  receiver: 'ops-hook',
  lastDeliveredAt: NOW - 2 * HOUR,
  failures: 0,
  ...more,
})

describe('what is told of a receiver', () => {
  test.each<[string, Partial<ReceiverHealth>, string | undefined]>([
    ['one that delivers', {}, undefined],
    ['one that has failed for less than an hour', { failingSince: NOW - HOUR + 1, failures: 6 }, undefined],
    ['one that has failed for an hour', { failingSince: NOW - HOUR, failures: 6 }, 'failing'],
    ['one that wants no more', { disabled: 'answered 410' }, 'disabled'],
    ['one that wants no more, and failed before', { disabled: 'x', failingSince: NOW - DAY, failures: 9 }, 'disabled'],
  ])('%s', (_, more, is) => {
    expect(judgeReceiver(health(more), NOW)?.is).toBe(is)
  })

  test('says what happened, since when, and what to do', () => {
    const failing = health({ failingSince: NOW - HOUR, failures: 6, lastReason: 'answered 500' })
    expect(judgeReceiver(failing, NOW)).toEqual({
      is: 'failing',
      level: 'warning',
      message:
        'The receiver ops-hook fails. It delivers nothing since 2026-11-21 08:00 UTC; 6 attempts failed since 2026-11-21 ' +
        '09:00 UTC, the last one: answered 500. Each message is tried again for three days. To see whether it works: ' +
        'plimsoll alerts test ops-hook',
    })
    expect(judgeReceiver(health({ disabled: 'answered 410' }), NOW)).toMatchObject({
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
