import { expect, test } from 'vitest'
import { isRewriteDue } from '../../src/redis/append-only-file.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const MINUTE = 60_000
const HOUR = 60 * MINUTE

test.each([
  ['never before', {}, true],
  ['a day ago', { rewrittenAt: NOW - 24 * HOUR }, true],
  ['less than a day ago, and nothing was deleted since', { rewrittenAt: NOW - 23 * HOUR }, false],
  ['before the last deletion', { rewrittenAt: NOW - 2 * HOUR, forgottenAt: NOW - HOUR }, true],
  ['in the same moment as the last deletion', { rewrittenAt: NOW - HOUR, forgottenAt: NOW - HOUR }, true],
  ['after the last deletion', { rewrittenAt: NOW - HOUR, forgottenAt: NOW - 2 * HOUR }, false],
  [
    'before a deletion, but one was begun within ten minutes',
    { rewrittenAt: NOW - HOUR, forgottenAt: NOW, begunAt: NOW - 9 * MINUTE },
    false,
  ],
  [
    'before a deletion, and one was begun ten minutes ago',
    { rewrittenAt: NOW - HOUR, forgottenAt: NOW, begunAt: NOW - 10 * MINUTE },
    true,
  ],
  [
    'a minute ago, and the disk was full after that one had begun',
    { rewrittenAt: NOW - MINUTE, begunAt: NOW - MINUTE, refusedAt: NOW - 1 },
    true,
  ],
  [
    'before the disk was full, and one was begun a minute after that',
    { rewrittenAt: NOW - HOUR, begunAt: NOW - MINUTE, refusedAt: NOW - 2 * MINUTE },
    false,
  ],
  [
    'before the disk was full, and one was begun ten minutes ago, after that',
    { rewrittenAt: NOW - HOUR, begunAt: NOW - 10 * MINUTE, refusedAt: NOW - 20 * MINUTE },
    true,
  ],
  ['never, and one that was begun a minute ago failed', { begunAt: NOW - MINUTE }, false],
])('the append-only file was rewritten last %s: it is due again? %o', (_, rewrites, isDue) => {
  const none = { rewrittenAt: undefined, forgottenAt: undefined, begunAt: undefined, refusedAt: undefined }
  expect(isRewriteDue({ ...none, ...rewrites }, NOW)).toBe(isDue)
})
