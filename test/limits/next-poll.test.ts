import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nextPollAt, retryPollAt } from '../../src/limits/next-poll.ts'
import type { FailureClass, ProviderFailure } from '../../src/provider/failure.ts'

const NOW = 1_763_719_200_000
const EVERY = 900_000

function failure(kind: FailureClass, retryAfterMs?: number): ProviderFailure {
  return { class: kind, code: 'x', message: 'x', status: 0, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

describe('the next poll', () => {
  test('comes when it is configured to', () => {
    expect(nextPollAt(123, NOW, EVERY, false)).toBe(NOW + EVERY)
  })

  test('after the first one comes a phase earlier that is the account’s own', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.integer({ min: 1_000, max: EVERY }),
        (hubId, every) => {
          const at = nextPollAt(hubId, NOW, every, true)
          expect(at).toBeGreaterThanOrEqual(NOW + every / 2)
          expect(at).toBeLessThanOrEqual(NOW + every)
          expect(nextPollAt(hubId, NOW, every, true)).toBe(at)
        },
      ),
    )
  })

  test('of accounts that were connected together is spread over half an interval', () => {
    const moments = Array.from({ length: 1_000 }, (_, n) => nextPollAt(5_000 + n, 0, EVERY, true))
    for (let tenth = 0; tenth < 10; tenth++) {
      const from = EVERY * (0.5 + 0.05 * tenth)
      const inside = moments.filter((at) => at >= from && at < from + EVERY * 0.05).length
      expect(inside).toBeGreaterThan(60)
      expect(inside).toBeLessThan(140)
    }
  })
})

describe('the poll after one that failed', () => {
  test.each([
    [0, 5_000],
    [1, 10_000],
    [4, 80_000],
    [7, 640_000],
    [8, EVERY],
    [1_000_000, EVERY],
  ])('comes sooner than usual: after %i failures in %i ms', (count, ms) => {
    expect(retryPollAt([failure('transient')], count, NOW, EVERY, true)).toBe(NOW + ms)
  })

  test('comes when the provider says, the longest of what it says', () => {
    const told = [failure('transient', 7_000), failure('forbidden'), failure('transient', 90_000)]
    expect(retryPollAt(told, 3, NOW, EVERY, true)).toBe(NOW + 90_000)
    expect(retryPollAt([failure('parked', 24 * 3_600_000)], 0, NOW, EVERY, true)).toBe(NOW + 24 * 3_600_000)
  })

  test('comes at the usual time where trying sooner would not help', () => {
    for (const kind of ['forbidden', 'client', 'unauthorized'] as const) {
      expect(retryPollAt([failure(kind)], 0, NOW, EVERY, true)).toBe(NOW + EVERY)
    }
  })

  test('is never later than usual unless told so, and always in the future', () => {
    const one = fc.record({
      kind: fc.constantFrom<FailureClass>('transient', 'parked', 'unauthorized', 'forbidden', 'client'),
      retryAfterMs: fc.option(fc.nat(86_400_000), { nil: undefined }),
    })
    fc.assert(
      fc.property(
        fc.array(one, { minLength: 1, maxLength: 5 }),
        fc.nat(100),
        fc.integer({ min: 1_000, max: 86_400_000 }),
        (failures, count, every) => {
          const list = failures.map(({ kind, retryAfterMs }) => failure(kind, retryAfterMs))
          const at = retryPollAt(list, count, NOW, every, true)
          const told = Math.max(0, ...failures.map(({ retryAfterMs }) => retryAfterMs ?? 0))
          expect(at).toBeGreaterThan(NOW)
          expect(at).toBeLessThanOrEqual(NOW + Math.max(every, told))
        },
      ),
    )
  })
})
