import { expect, test } from 'vitest'
import { daemonStatus, daemonsText } from '../../src/views/daemon-status.ts'

const NOW = Date.parse('2026-11-22T03:00:00.000Z')
const SEEN = { version: '1.0.0', startedAt: NOW - 86_400_000, config: 'a1b2c3' }
const daemon = (name: string, secondsAgo: number) =>
  daemonStatus({ name, ...SEEN, lastSeenAt: NOW - secondsAgo * 1_000 }, NOW)

test.each([
  ['nobody', [], 'none is at work'],
  ['two', [daemon('a pid 1', 5), daemon('b pid 2', 20)], '2 at work (a pid 1, b pid 2)'],
  [
    'one that fell silent beside one that works',
    [daemon('a pid 1', 5), daemon('b pid 2', 600)],
    '1 at work (a pid 1), b pid 2 is silent since 2026-11-22 02:50 UTC',
  ],
  [
    'one alone that fell silent',
    [daemon('a pid 1', 600)],
    'none is at work, a pid 1 is silent since 2026-11-22 02:50 UTC',
  ],
  ['a name with controls', [daemon('a\u001b[2J pid 1', 5)], expect.not.stringContaining('\u001b')],
])('a status says who is at work: %s', (_who, daemons, text) => {
  expect(daemonsText(daemons)).toEqual(text)
})
