import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { planRefresh } from '../../src/tokens/plan-refresh.ts'

const SETTINGS = { refreshFrom: 0.5, refreshBy: 0.8 }
const NOW = 1_763_719_200_000

const hubId = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
const times = fc
  .record({ obtainedAt: fc.integer({ min: 0, max: 2 ** 42 }), life: fc.integer({ min: 1_000, max: 2 ** 32 }) })
  .map(({ obtainedAt, life }) => ({ obtainedAt, expiresAt: obtainedAt + life }))
const settings = fc
  .tuple(fc.double({ min: 0.05, max: 0.9, noNaN: true }), fc.double({ min: 0.05, max: 0.9, noNaN: true }))
  .map(([a, b]) => ({ refreshFrom: Math.min(a, b), refreshBy: Math.max(a, b) }))

describe('the plan of a refresh', () => {
  test('is never before the first share of the life, and never after the second', () => {
    fc.assert(
      fc.property(hubId, times, settings, (id, { obtainedAt, expiresAt }, shares) => {
        const life = expiresAt - obtainedAt
        const { dueAt, lateAt } = planRefresh(id, { obtainedAt, expiresAt }, shares)
        expect(dueAt).toBeGreaterThanOrEqual(Math.floor(obtainedAt + life * shares.refreshFrom))
        expect(dueAt).toBeLessThanOrEqual(lateAt)
        expect(lateAt).toBe(Math.floor(obtainedAt + life * shares.refreshBy))
        expect(lateAt).toBeLessThan(expiresAt)
      }),
    )
  })

  test('of a token that lives half an hour falls between minute 15 and 24', () => {
    const { dueAt, lateAt } = planRefresh(123, { obtainedAt: NOW, expiresAt: NOW + 1_800_000 }, SETTINGS)
    expect(dueAt).toBeGreaterThanOrEqual(NOW + 900_000)
    expect(lateAt).toBe(NOW + 1_440_000)
  })
})

describe('of an account that was refreshed later', () => {
  test('the next refresh is never earlier: the plan goes with the clock', () => {
    fc.assert(
      fc.property(hubId, times, settings, fc.nat(2 ** 32), (id, { obtainedAt, expiresAt }, shares, later) => {
        const plan = planRefresh(id, { obtainedAt, expiresAt }, shares)
        const next = planRefresh(id, { obtainedAt: obtainedAt + later, expiresAt: expiresAt + later }, shares)
        // The sum of a whole and a broken number is rounded where it is large.
        expect(next.dueAt).toBeGreaterThanOrEqual(plan.dueAt)
        expect(Math.abs(next.dueAt - plan.dueAt - later)).toBeLessThanOrEqual(1)
        expect(next.lateAt).toBeGreaterThanOrEqual(plan.lateAt)
      }),
    )
  })
})

describe('the share of an account', () => {
  /** As hubIds come: in a row, in steps, large. */
  const fleets: [string, (n: number) => number][] = [
    ['in a row', (n) => 1_000_000 + n],
    ['in steps of 64', (n) => 64 * n],
    ['in steps of 1000', (n) => 7 + 1_000 * n],
    ['beyond 32 bits', (n) => 2 ** 40 + n * 4_294_967_296],
    ['scattered', (n) => (n * 2_654_435_761) % 50_000_000],
  ]
  const random = fc.sample(fc.integer({ min: 1, max: 2 ** 48 }), { numRuns: 5_000, seed: 7 })
  test.each([
    ...fleets.map(([name, idOf]): [string, number[]] => [name, Array.from({ length: 5_000 }, (_, n) => idOf(n + 1))]),
    ['at random', [...new Set(random)]],
    ['of one small fleet', Array.from({ length: 1_000 }, (_, n) => 40_000 + n)],
  ])('spreads the moments of accounts with ids %s within 5 % of an even spread (Kolmogorov-Smirnov)', (_, ids) => {
    const life = 1_800_000
    const { refreshFrom, refreshBy } = SETTINGS
    const shares = ids
      .map((id) => planRefresh(id, { obtainedAt: NOW, expiresAt: NOW + life }, SETTINGS).dueAt - NOW)
      .map((ms) => (ms / life - refreshFrom) / (refreshBy - refreshFrom))
      .sort((a, b) => a - b)
    const distance = Math.max(
      ...shares.map((share, n) => Math.max(share - n / shares.length, (n + 1) / shares.length - share)),
    )
    expect(distance).toBeLessThanOrEqual(0.05)
  })
})
