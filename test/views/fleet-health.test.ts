import { expect, test } from 'vitest'
import { ROLES, type Role } from '../../src/heartbeat/daemons.ts'
import { daemonStatus, daemonsText } from '../../src/views/fleet-health.ts'

const NOW = Date.parse('2026-11-22T03:00:00.000Z')
const SEEN = { version: '1.0.0', startedAt: NOW - 86_400_000, config: 'a1b2c3' }
const daemon = (name: string, secondsAgo: number, ...roles: Role[]) =>
  daemonStatus({ name, ...SEEN, roles: roles.length === 0 ? ROLES : roles, lastSeenAt: NOW - secondsAgo * 1_000 }, NOW)

test.each([
  ['nobody', [], 'not running'],
  ['two', [daemon('a pid 1', 5), daemon('b pid 2', 20)], '2 running (a pid 1, b pid 2)'],
  [
    'one that fell silent beside one that works',
    [daemon('a pid 1', 5), daemon('b pid 2', 600)],
    '1 running (a pid 1), b pid 2 has been silent since 2026-11-22 02:50 UTC',
  ],
  [
    'one alone that fell silent',
    [daemon('a pid 1', 600)],
    'not running, a pid 1 has been silent since 2026-11-22 02:50 UTC',
  ],
  [
    'some of whom do a part each',
    [daemon('a pid 1', 5, 'clock', 'worker'), daemon('b pid 2', 5, 'web')],
    '2 running (a pid 1: clock and worker, b pid 2: web)',
  ],
  [
    'none of whom works',
    [daemon('a pid 1', 5, 'clock'), daemon('b pid 2', 5, 'web'), daemon('c pid 3', 600, 'worker')],
    expect.stringContaining('NO WORKER is running: nothing is refreshed'),
  ],
  ['none of whom ticks', [daemon('a pid 1', 5, 'worker')], expect.stringContaining('NO CLOCK is running')],
  ['a name with controls', [daemon('a\u001b[2J pid 1', 5)], expect.not.stringContaining('\u001b')],
])('a status says who is at work: %s', (_who, daemons, text) => {
  expect(daemonsText(daemons)).toEqual(text)
})
