import fc from 'fast-check'
import { expect, test } from 'vitest'
import { afterAttempt } from '../../src/delivery/after-attempt.ts'
import type { AttemptOutcome } from '../../src/delivery/receiver.ts'

const FIRST = Date.parse('2026-11-21T10:00:00.000Z')
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const THREE_DAYS = 72 * HOUR
const after = (attempts: number, waitedMs: number, outcome: AttemptOutcome, now: number, random: number) =>
  afterAttempt(outcome, { attempts, waitedMs, now, random })
const failed = { outcome: 'retry', reason: 'answered 500' } as const

test.each([
  [1, 5 * SECOND],
  [2, 30 * SECOND],
  [3, 2 * MINUTE],
  [4, 10 * MINUTE],
  [5, 30 * MINUTE],
  [6, 2 * HOUR],
  [7, 6 * HOUR],
  [8, 12 * HOUR],
  [9, 12 * HOUR],
])('after attempt %i the next one is in %i ms, give or take a fifth', (attempts, delay) => {
  const next = (random: number) => after(attempts, HOUR, failed, FIRST, random)
  for (const [random, share] of [
    [0, 0.8],
    [0.5, 1],
    [1, 1.2],
  ] as const)
    expect(next(random)).toMatchObject({ outcome: 'retry', nextAt: FIRST + share * delay })
})

const DENIED = { outcome: 'disable', reason: 'login refused', waits: true } as const
const TAKEN = { taken: ['a'], later: [], refused: [] }
const LATER = { address: 'b', reason: '450' }

test.each<[string, AttemptOutcome, waitedMs: number, object]>([
  ['arrived', { outcome: 'delivered', detail: 'so' }, 0, { outcome: 'delivered', nextAt: null, reason: 'so' }],
  ['will never be taken', { outcome: 'refuse', reason: 'so' }, 0, { outcome: 'dead', nextAt: null }],
  [
    'found a receiver that wants no more',
    { outcome: 'disable', reason: 'so' },
    0,
    { outcome: 'refused', nextAt: null },
  ],
  [
    'found a login refused',
    DENIED,
    0,
    { outcome: 'waits', nextAt: FIRST + THREE_DAYS, pausedUntil: FIRST + THREE_DAYS },
  ],
  ['found one refused for three days', DENIED, THREE_DAYS, { outcome: 'dead', nextAt: null }],
  ['found one refused for almost as long', DENIED, 70 * HOUR, { outcome: 'waits', nextAt: FIRST + 2 * HOUR }],
  ['failed for three days', failed, THREE_DAYS, { outcome: 'dead', nextAt: null, reason: 'answered 500' }],
  ['failed for almost as long', failed, 70 * HOUR, { outcome: 'retry', nextAt: FIRST + 2 * HOUR }],
  [
    'was put off beyond that',
    { ...failed, retryAfterMs: 3 * HOUR },
    70 * HOUR,
    { nextAt: FIRST + 2 * HOUR, pausedUntil: FIRST + 3 * HOUR },
  ],
  [
    'was put off for a recipient',
    { ...failed, recipients: { ...TAKEN, later: [LATER] } },
    0,
    { left: ['b'], recipients: { taken: ['a'], refused: [] } },
  ],
  [
    'was put off for one for three days',
    { ...failed, recipients: { ...TAKEN, later: [LATER] } },
    THREE_DAYS,
    { outcome: 'dead', recipients: { taken: ['a'], refused: [LATER] } },
  ],
])('the record of a message that %s', (_, outcome, waitedMs, record) => {
  expect(after(13, waitedMs, outcome, FIRST, 0.5)).toMatchObject(record)
})

test('a wait that the receiver asked for is kept; after a shorter one the pauses grow to no more than a minute', () => {
  const next = (attempts: number, retryAfterMs: number) =>
    after(attempts, 0, { ...failed, retryAfterMs }, FIRST, 0.5).nextAt
  expect(next(1, HOUR)).toBe(FIRST + HOUR)
  expect(next(1, SECOND)).toBe(FIRST + 5 * SECOND)
  expect(next(9, SECOND)).toBe(FIRST + 60 * SECOND)
})

test('whatever happens, the next attempt is later than now, within three days and never before Retry-After', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 0, max: 2 * THREE_DAYS }),
      fc.option(fc.integer({ min: SECOND, max: 24 * HOUR }), { nil: undefined }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempts, age, retryAfterMs, random) => {
        const now = FIRST + age
        const outcome = retryAfterMs === undefined ? failed : { ...failed, retryAfterMs }
        const { outcome: is, nextAt } = after(attempts, age, outcome, now, random)
        expect(is).toBe(age >= THREE_DAYS ? 'dead' : 'retry')
        if (nextAt === null) return
        expect(nextAt).toBeGreaterThan(now)
        expect(nextAt).toBeLessThanOrEqual(FIRST + THREE_DAYS)
        expect(nextAt).toBeGreaterThanOrEqual(Math.min(now + (retryAfterMs ?? 0), FIRST + THREE_DAYS))
      },
    ),
  )
})

test('a receiver that fails for good is tried about fourteen times over three days', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 30, maxLength: 30 }), (randoms) => {
      let now = FIRST
      let attempts = 0
      for (const random of randoms) {
        const { nextAt } = after(++attempts, now - FIRST, failed, now, random)
        if (nextAt === null) break
        now = nextAt
      }
      expect(now).toBe(FIRST + THREE_DAYS)
      expect(attempts).toBeGreaterThanOrEqual(12)
      expect(attempts).toBeLessThanOrEqual(16)
    }),
  )
})
