import { expect, test } from 'vitest'
import { fleetAnnouncer } from '../../../src/alerts/kinds/fleet-alert.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../../src/redis/steps.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const announcer = fleetAnnouncer({ repeatEveryMs: 24 * 3_600_000, page: 'https://plimsoll.example.com/' })
const fire = (stored: string, now: number) =>
  announcer({ trouble: 'token-endpoint', is: 'firing', stored: stored, message: 'it fails', now: now })

const stateAfter = ({ changes: [change] }: AlertWrites) => change?.[2] ?? ''

test('the alert about the fleet names no account, is repeated after a day and closed once', () => {
  const first = fire('', NOW)
  expect(decodeEntry(first.entries[0] ?? '').alert).toEqual({
    ...{
      id: expect.any(String),
      kind: 'fleet',
      status: 'firing',
      level: 'critical',
      reason: 'entered',
      rule: 'fleet',
    },
    ...{ measuredAt: '2026-11-21T10:00:00.000Z', since: '2026-11-21T10:00:00.000Z', message: 'it fails' },
    url: 'https://plimsoll.example.com/',
  })
  expect(first.changes).toEqual([['token-endpoint', '', stateAfter(first)]])
  expect(fire(stateAfter(first), NOW + 24 * 3_600_000 - 1)).toEqual(NO_ALERT_WRITES)
  const again = fire(stateAfter(first), NOW + 24 * 3_600_000)
  expect(decodeEntry(again.entries[0] ?? '').alert).toMatchObject({ reason: 'repeat', status: 'firing' })
  const over = announcer({
    trouble: 'token-endpoint',
    is: 'over',
    stored: stateAfter(again),
    message: 'it works',
    now: NOW + 25 * 3_600_000,
  })
  expect(over.changes).toEqual([['token-endpoint', stateAfter(again), '']])
  expect(decodeEntry(over.entries[0] ?? '').alert).toMatchObject({ status: 'resolved', message: 'it works' })
  expect(
    announcer({ trouble: 'token-endpoint', is: 'over', stored: stateAfter(over), message: 'x', now: NOW }),
  ).toEqual(NO_ALERT_WRITES)
})
