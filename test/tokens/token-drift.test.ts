import { describe, expect, test } from 'vitest'
import { tokenDrift } from '../../src/tokens/token-drift.ts'

const OBTAINED = 1_763_719_200_000
const LIFE = 1_800_000
const TIMES = { obtainedAt: OBTAINED, expiresAt: OBTAINED + LIFE }

/** The provider is asked a minute after the token came and answers `told` seconds. */
function drift(told: number | undefined, callMs = 0) {
  const askedAt = OBTAINED + 60_000
  const lifeLeftMs = told === undefined ? undefined : told * 1_000
  return tokenDrift(TIMES, { askedAt, answeredAt: askedAt + callMs, lifeLeftMs })
}

describe("the provider's count of a token's life", () => {
  test.each([1740, 1739, 1738, 1742])('agrees with ours within its whole seconds: %i s left', (told) => {
    expect(drift(told)).toEqual({ driftMs: null, times: TIMES })
  })

  test('that is not told is none', () => {
    expect(drift(undefined)).toEqual({ driftMs: null, times: TIMES })
  })

  test('that a slow answer blurs is not called different for it', () => {
    expect(drift(1730, 9_000)).toEqual({ driftMs: null, times: TIMES })
    expect(drift(1730).driftMs).toBe(-10_000)
  })

  test('that is longer, or shorter by a few seconds, is noted and not believed', () => {
    expect(drift(1800)).toEqual({ driftMs: 60_000, times: TIMES })
    expect(drift(1736)).toEqual({ driftMs: -4_000, times: TIMES })
    expect(drift(1735)).toEqual({ driftMs: -5_000, times: TIMES })
  })

  test('that is shorter is believed', () => {
    expect(drift(1734)).toEqual({ driftMs: -6_000, times: { ...TIMES, expiresAt: TIMES.expiresAt - 6_000 } })
    expect(drift(840).times.expiresAt).toBe(OBTAINED + 900_000)
  })

  test('that is nothing leaves a life to plan with', () => {
    const { times } = tokenDrift(TIMES, { askedAt: OBTAINED, answeredAt: OBTAINED, lifeLeftMs: 0 })
    expect(times).toEqual({ obtainedAt: OBTAINED, expiresAt: OBTAINED + 1_000 })
  })
})
