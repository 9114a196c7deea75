import { expect, test } from 'vitest'
import { fleetAnnouncer } from '../../../src/alerts/kinds/fleet-alert.ts'
import { decodeEntry } from '../../../src/alerts/outbox/outbox-entry.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const announcer = fleetAnnouncer({ repeatEveryMs: 24 * 3_600_000, page: 'https://plimsoll.example.com/' })
const fire = (stored: string, now: number) => announcer.fleet('token-endpoint', 'firing', stored, 'it fails', now)

test('the alert about the fleet names no account, is repeated after a day and closed once', () => {
  const first = fire('', NOW)
  expect(decodeEntry(first.writes.entries[0] ?? '').alert).toEqual({
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
  expect(first.writes.changes).toEqual([['token-endpoint', '', first.stored]])
  expect(fire(first.stored, NOW + 24 * 3_600_000 - 1)).toEqual({
    ...{ writes: { changes: [], entries: [] }, stored: first.stored },
  })
  const again = fire(first.stored, NOW + 24 * 3_600_000)
  expect(decodeEntry(again.writes.entries[0] ?? '').alert).toMatchObject({ reason: 'repeat', status: 'firing' })
  const over = announcer.fleet('token-endpoint', 'over', again.stored, 'it works', NOW + 25 * 3_600_000)
  expect(over.writes.changes).toEqual([['token-endpoint', again.stored, '']])
  expect(decodeEntry(over.writes.entries[0] ?? '').alert).toMatchObject({ status: 'resolved', message: 'it works' })
  expect(announcer.fleet('token-endpoint', 'over', over.stored, 'x', NOW)).toEqual({
    ...{ writes: { changes: [], entries: [] }, stored: '' },
  })
})
