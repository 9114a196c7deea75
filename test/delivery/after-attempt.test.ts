import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterAttempt } from '../../src/delivery/after-attempt.ts'
import type { AttemptOutcome } from '../../src/delivery/receiver.ts'

const FIRST = Date.parse('2026-11-21T10:00:00.000Z')
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const THREE_DAYS = 72 * HOUR
const after = (attempts: number, waitedMs: number, outcome: AttemptOutcome, now: number, random: number) =>
  afterAttempt(outcome, { attempts, waitedMs, now, random })
const refused = { outcome: 'retry', reason: 'answered 500' } as const

describe('the delay after each failed attempt', () => {
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
    [10, 12 * HOUR],
  ])('after attempt %i it is %i ms, give or take a fifth', (attempts, delay) => {
    const now = FIRST + HOUR
    const next = (random: number) => after(attempts, HOUR, refused, now, random)
    expect(next(0.5)).toEqual({ next: 'retry', at: now + delay })
    expect(next(0)).toEqual({ next: 'retry', at: now + 0.8 * delay })
    expect(next(1)).toEqual({ next: 'retry', at: now + 1.2 * delay })
  })
})

test('a delivered message is done', () => {
  expect(after(3, 0, { outcome: 'delivered' }, FIRST, 0.5)).toEqual({ next: 'done' })
})

test('a receiver that wants nothing more is not tried again', () => {
  expect(after(1, 0, { outcome: 'disable', reason: 'answered 410' }, FIRST, 0.5)).toEqual({
    next: 'dead',
    reason: 'answered 410',
  })
})

test('a wait that the receiver asked for is kept; after a shorter one the pauses grow to no more than a minute', () => {
  const next = (attempts: number, retryAfterMs: number) => after(attempts, 0, { ...refused, retryAfterMs }, FIRST, 0.5)
  expect(next(1, HOUR)).toEqual({ next: 'retry', at: FIRST + HOUR })
  expect(next(1, SECOND)).toEqual({ next: 'retry', at: FIRST + 5 * SECOND })
  expect(next(9, SECOND)).toEqual({ next: 'retry', at: FIRST + 60 * SECOND })
})

test('the last attempt falls on the end of the three days, and after it the delivery is dead', () => {
  expect(after(13, 70 * HOUR, refused, FIRST + 70 * HOUR, 0.5)).toEqual({ next: 'retry', at: FIRST + THREE_DAYS })
  expect(after(14, THREE_DAYS, refused, FIRST + THREE_DAYS, 0.5)).toEqual({
    next: 'dead',
    reason: 'gave up after 14 attempts in three days: answered 500',
  })
})

test('of a wait that reaches beyond the three days the last attempt is the end, and so it is of a receiver that is switched off', () => {
  for (const outcome of [
    { ...refused, retryAfterMs: 3 * HOUR },
    { outcome: 'disable', reason: 'login refused', waits: true } as const,
  ])
    expect(after(13, 70 * HOUR, outcome, FIRST + 70 * HOUR, 0.5)).toEqual({ next: 'retry', at: FIRST + THREE_DAYS })
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
        const outcome = retryAfterMs === undefined ? refused : { ...refused, retryAfterMs }
        const next = after(attempts, age, outcome, now, random)
        if (age >= THREE_DAYS) expect(next.next).toBe('dead')
        if (next.next !== 'retry') return
        expect(next.at).toBeGreaterThan(now)
        expect(next.at).toBeLessThanOrEqual(FIRST + THREE_DAYS)
        expect(next.at).toBeGreaterThanOrEqual(Math.min(now + (retryAfterMs ?? 0), FIRST + THREE_DAYS))
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
        const next = after(++attempts, now - FIRST, refused, now, random)
        if (next.next !== 'retry') break
        now = next.at
      }
      expect(now).toBe(FIRST + THREE_DAYS)
      expect(attempts).toBeGreaterThanOrEqual(12)
      expect(attempts).toBeLessThanOrEqual(16)
    }),
  )
})
