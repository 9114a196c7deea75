import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterCalls, budgetSchema } from '../../../src/tokens/endpoint/retry-budget.ts'
import { NOW } from './simulate.ts'

const AT_FIRST = 100
const newBudget = (at: number) => budgetSchema.parse({ at })

describe('the retry budget', () => {
  test('earns a fraction of a retry with every call that works, and pays one for every error', () => {
    const empty = { credit: 0, at: NOW }
    expect(afterCalls(empty, { worked: 19, failed: 0 }, 0.05, NOW).credit).toBeCloseTo(1)
    expect(afterCalls({ credit: 7, at: NOW }, { worked: 0, failed: 3 }, 0.05, NOW).credit).toBe(4)
    expect(afterCalls(empty, { worked: 0, failed: 1_000 }, 0.05, NOW).credit).toBe(0)
    expect(afterCalls(empty, { worked: 1e9, failed: 0 }, 0.95, NOW).credit).toBe(1_000)
  })

  test('allows one retry every five seconds where nothing works, and does not save them up', () => {
    const spent = afterCalls(newBudget(NOW), { worked: 0, failed: AT_FIRST }, 0.05, NOW)
    expect(afterCalls(spent, { worked: 0, failed: 0 }, 0.05, NOW + 4_999).credit).toBe(0)
    expect(afterCalls(spent, { worked: 0, failed: 0 }, 0.05, NOW + 5_000).credit).toBe(1)
    expect(afterCalls(spent, { worked: 0, failed: 0 }, 0.05, NOW + 3_600_000).credit).toBe(1)
  })

  test('survives a clock that is set back', () => {
    const back = afterCalls({ credit: 0, at: NOW }, { worked: 0, failed: 0 }, 0.05, NOW - 3_600_000)
    expect(afterCalls(back, { worked: 0, failed: 0 }, 0.05, NOW - 3_595_000).credit).toBe(1)
  })

  test('keeps errors that come of retries below their share, whatever fails', () => {
    const run = fc.record({
      ceiling: fc.double({ min: 0.01, max: 0.5, noNaN: true }),
      everyNthFails: fc.integer({ min: 1, max: 30 }),
      retriesFail: fc.boolean(),
      calls: fc.integer({ min: 1, max: 3_000 }),
      apartMs: fc.nat(2_000),
    })
    fc.assert(
      fc.property(run, ({ ceiling, everyNthFails, retriesFail, calls, apartMs }) => {
        let budget = newBudget(NOW)
        let [waiting, errorsOfRetries, all] = [0, 0, 0]
        for (let n = 1; n <= calls; n++) {
          const now = NOW + n * apartMs
          const isRetry = waiting > 0 && budget.credit >= 1
          const fails = isRetry ? retriesFail : n % everyNthFails === 0
          all++
          if (isRetry) waiting--
          if (fails) waiting++
          if (isRetry && fails) errorsOfRetries++
          budget = afterCalls(budget, fails ? { worked: 0, failed: 1 } : { worked: 1, failed: 0 }, ceiling, now)
          const trickle = (n * apartMs) / 5_000
          expect(errorsOfRetries).toBeLessThanOrEqual(AT_FIRST + trickle + ceiling * all + 1)
          expect(budget.credit).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })
})
