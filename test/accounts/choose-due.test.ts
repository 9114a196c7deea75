import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { chooseDue, chooseProbe, type DueToken } from '../../src/accounts/choose-due.ts'

const NOW = 1_763_719_200_000
/** Half of everybody's life ago. */
const EARLY = NOW - 900_000

function tokens(lane: DueToken['lane'], count: number, firstId: number): DueToken[] {
  // Nearest to expiry last, so that order is no accident.
  return Array.from({ length: count }, (_, n) => {
    const expiresAt = lane === 'new' ? 0 : NOW + 1_000 * (count - n)
    return { hubId: firstId + n, lane, expiresAt, obtainedAt: lane === 'new' ? 0 : NOW - 1_800_000 }
  })
}
const lanesOf = (chosen: DueToken[]) => ({
  healthy: chosen.filter(({ lane }) => lane === 'healthy').length,
  failing: chosen.filter(({ lane }) => lane === 'failing').length,
  new: chosen.filter(({ lane }) => lane === 'new').length,
})

const HEALTHY = tokens('healthy', 100, 1)
const FAILING = tokens('failing', 100, 1_001)
const NEW = tokens('new', 100, 2_001)

describe('of the accounts that are due', () => {
  test('the nearest to expiry come first', () => {
    expect(chooseDue(HEALTHY, 3, EARLY).map(({ hubId }) => hubId)).toEqual([100, 99, 98])
  })

  test('while healthy ones are about to expire one place is all that others get', () => {
    expect(lanesOf(chooseDue([...NEW, ...FAILING, ...HEALTHY], 40, NOW))).toEqual({
      healthy: 39,
      failing: 1,
      new: 0,
    })
  })

  test('failing and new ones share a quarter of the places while healthy ones wait', () => {
    const chosen = chooseDue([...NEW, ...FAILING, ...HEALTHY], 40, EARLY)
    expect(lanesOf(chosen)).toEqual({ healthy: 30, failing: 5, new: 5 })
    expect(chosen.slice(0, 30).every(({ lane }) => lane === 'healthy')).toBe(true)
  })

  test('failing and new ones take what healthy ones leave, and the other way round', () => {
    const few = HEALTHY.slice(0, 6)
    expect(lanesOf(chooseDue([...FAILING, ...few, ...NEW], 40, EARLY))).toEqual({
      healthy: 6,
      failing: 17,
      new: 17,
    })
    expect(lanesOf(chooseDue([...FAILING.slice(0, 2), ...HEALTHY], 40, EARLY))).toMatchObject({
      healthy: 38,
      failing: 2,
    })
  })

  test('the only place there is goes to a healthy one', () => {
    expect(lanesOf(chooseDue([...FAILING, ...NEW, ...HEALTHY], 1, EARLY))).toMatchObject({ healthy: 1 })
    expect(lanesOf(chooseDue([...FAILING, ...NEW], 1, EARLY))).toMatchObject({ failing: 1 })
  })

  test('whoever they are, no more are chosen than there are places, nobody twice, and no place is left free in vain', () => {
    const due = fc.uniqueArray(
      fc.record({
        hubId: fc.integer({ min: 1, max: 500 }),
        obtainedAt: fc.constant(NOW),
        expiresAt: fc.integer({ min: NOW - 1_000, max: NOW + 1_000 }),
        lane: fc.constantFrom('healthy', 'failing', 'new'),
      }),
      { selector: ({ hubId }) => hubId, maxLength: 120 },
    )
    fc.assert(
      fc.property(due, fc.nat(150), (all, places) => {
        const chosen = chooseDue(all, places, EARLY)
        const [of, from] = [lanesOf(chosen), lanesOf(all)]
        expect(new Set(chosen.map(({ hubId }) => hubId)).size).toBe(chosen.length)
        expect(chosen.length).toBe(Math.min(places, all.length))
        if (of.healthy < from.healthy) expect(of.failing + of.new).toBeLessThanOrEqual(places / 4)
        for (const lane of ['healthy', 'failing', 'new'] as const) {
          const mine = chosen.filter((token) => token.lane === lane).map(({ expiresAt }) => expiresAt)
          const best = all.filter((token) => token.lane === lane).map(({ expiresAt }) => expiresAt)
          expect(mine).toEqual(best.sort((a, b) => a - b).slice(0, mine.length))
        }
      }),
    )
  })

  test('as a probe a healthy one is tried, whichever, and another one only where there is none', () => {
    const all = [...NEW, ...HEALTHY, ...FAILING]
    const probes = Array.from({ length: 100 }, (_, n) => chooseProbe(all, (n + 0.5) / 100))
    expect(new Set(probes.flat().map(({ hubId }) => hubId)).size).toBe(100)
    expect(lanesOf(probes.flat())).toEqual({ healthy: 100, failing: 0, new: 0 })
    expect(chooseProbe([...NEW, ...FAILING], 0.999)).toEqual(FAILING.slice(-1))
    expect(chooseProbe([], 0.5)).toEqual([])
  })
})
