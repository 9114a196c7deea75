import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Coverage, coverageShare, judgeCoverage, looksLikeFleet } from '../../src/limits/coverage.ts'

const SETTINGS = { objective: 0.95, freshnessMs: 93_600_000 }
const fleet = (polled: number, more: Partial<Coverage> = {}): Coverage => ({
  polled,
  stale: 0,
  failing: 0,
  failingForLong: 0,
  notWatched: 0,
  ...more,
})
const judge = (coverage: Coverage, isTold = false) => judgeCoverage(coverage, SETTINGS, isTold)

describe('the coverage of the fleet', () => {
  test('is the share of accounts with a fresh reading, and none where there is no account', () => {
    expect(coverageShare(fleet(200, { stale: 9 }))).toBe(0.955)
    expect(coverageShare(fleet(0))).toBeNull()
  })

  test.each([
    [100, 5, undefined],
    [100, 6, 'stale'],
    [1_000, 50, undefined],
    [1_000, 51, 'stale'],
    [20, 2, undefined],
    [20, 3, 'stale'],
    [3, 3, 'stale'],
    [2, 2, undefined],
    [0, 0, undefined],
  ])(
    'of %i accounts with %i stale is a trouble only below the objective, and never of one or two',
    (polled, stale, is) => {
      expect(judge(fleet(polled, { stale }))).toBe(is)
    },
  )

  test.each([
    [100, 20, undefined],
    [100, 21, 'failing'],
    [4, 3, 'failing'],
    [3, 2, undefined],
  ])('of %i accounts with %i that fail for long is a trouble when many do', (polled, failingForLong, is) => {
    expect(judge(fleet(polled, { failing: failingForLong, failingForLong }))).toBe(is)
  })

  test('is no trouble when polls fail that worked a moment ago; but each account waits for the fleet to speak', () => {
    const justNow = fleet(100, { failing: 60 })
    expect(judge(justNow)).toBeUndefined()
    expect(looksLikeFleet(justNow, SETTINGS)).toBe(true)
    expect(looksLikeFleet(fleet(100, { failing: 20 }), SETTINGS)).toBe(false)
  })

  test('once told is over when half of what began it is left', () => {
    expect(judge(fleet(100, { stale: 3 }), true)).toBe('stale')
    expect(judge(fleet(100, { stale: 2 }), true)).toBeUndefined()
    expect(judge(fleet(100, { failingForLong: 11 }), true)).toBe('failing')
    expect(judge(fleet(100, { failingForLong: 10 }), true)).toBeUndefined()
    expect(judge(fleet(20, { stale: 2 }), true)).toBe('stale')
    expect(judge(fleet(20, { stale: 1 }), true)).toBeUndefined()
  })

  test('never comes and goes: whatever begins it does not end it', () => {
    const counts = fc.record({ polled: fc.nat(5_000), stale: fc.nat(5_000), failingForLong: fc.nat(5_000) })
    fc.assert(
      fc.property(
        counts,
        fc.double({ min: 0.01, max: 1, noNaN: true }),
        ({ polled, stale, failingForLong }, objective) => {
          const found = fleet(polled, {
            stale: Math.min(stale, polled),
            failingForLong: Math.min(failingForLong, polled),
          })
          const settings = { ...SETTINGS, objective }
          const trouble = judgeCoverage(found, settings, false)
          if (trouble !== undefined) expect(judgeCoverage(found, settings, true)).toBeDefined()
          if (found.stale === 0 && found.failingForLong === 0) expect(trouble).toBeUndefined()
        },
      ),
    )
  })
})
