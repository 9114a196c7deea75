import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planAfterFailure, regularPeriod } from '../../../src/limits/polling/plan-poll.ts'
import type { FailureClass, ProviderFailure } from '../../../src/provider/failure.ts'

const EVERY = 900_000

function failure(kind: FailureClass, retryAfterMs?: number): ProviderFailure {
  return { class: kind, code: 'x', message: 'x', status: 0, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

const hubIds = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })

describe('the regular turn', () => {
  test('comes a little before the longest period ends, so that a sweep may find it late', () => {
    fc.assert(
      fc.property(hubIds, fc.integer({ min: 1_000, max: 7 * 86_400_000 }), (hubId, every) => {
        const period = regularPeriod(hubId, every, false)
        expect(period).toBeGreaterThanOrEqual(every * 0.94)
        expect(period).toBeLessThanOrEqual(every * 0.97)
        expect(regularPeriod(hubId, every, false)).toBe(period)
      }),
    )
  })

  test('after the first poll has a phase that is the account’s own', () => {
    fc.assert(
      fc.property(hubIds, fc.integer({ min: 1_000, max: EVERY }), (hubId, every) => {
        const period = regularPeriod(hubId, every, true)
        expect(period).toBeGreaterThanOrEqual(every / 2)
        expect(period).toBeLessThanOrEqual(every * 0.97)
        expect(regularPeriod(hubId, every, true)).toBe(period)
      }),
    )
  })

  test('of accounts that were connected together is spread over half an interval, and more so with every turn', () => {
    const fleet = Array.from({ length: 1_000 }, (_, n) => 5_000 + n)
    const momentsOf = (turns: number) =>
      fleet.map((hubId) => regularPeriod(hubId, EVERY, true) + turns * regularPeriod(hubId, EVERY, false))
    const tenths = (moments: number[], from: number, to: number) =>
      Array.from({ length: 10 }, (_, n) => {
        const width = (to - from) / 10
        return moments.filter((at) => at >= from + n * width && at < from + (n + 1) * width).length
      })
    for (const inside of tenths(momentsOf(0), EVERY * 0.5, EVERY * 0.97)) {
      expect(inside).toBeGreaterThan(60)
      expect(inside).toBeLessThan(140)
    }
    for (const inside of tenths(momentsOf(10), EVERY * 9.9, EVERY * 10.67)) {
      expect(inside).toBeGreaterThan(60)
      expect(inside).toBeLessThan(140)
    }
  })
})

describe('the poll after one that failed', () => {
  const POLL = { hubId: 5, at: 0, everyMs: EVERY }
  const planned = (failures: ProviderFailure[], count = 0) =>
    planAfterFailure(POLL, failures, { count, mayRetry: true, tellAt: Number.POSITIVE_INFINITY, now: 0 }, undefined)
  const regularAt = Math.round(regularPeriod(5, EVERY, false))

  test.each([
    [0, 5_000],
    [1, 10_000],
    [4, 80_000],
    [7, 640_000],
    [8, undefined],
    [1_000_000, undefined],
  ])('comes sooner than usual: after %i failures in %i ms', (count, ms) => {
    expect(planned([failure('transient')], count).at).toBe(ms ?? regularAt)
    expect(planned([failure('forbidden'), failure('transient')], count).at).toBe(ms ?? regularAt)
  })

  test('comes no sooner where that would not help', () => {
    for (const kind of ['forbidden', 'client', 'unauthorized'] as const) {
      expect(planned([failure(kind)]).at).toBe(regularAt)
    }
  })

  test('waits as long as the provider says, the longest of what it says', () => {
    expect(planned([failure('transient', 7_000), failure('forbidden'), failure('transient', 90_000)]).at).toBe(90_000)
    expect(planned([failure('parked', 24 * 3_600_000)]).at).toBe(24 * 3_600_000)
  })
})
