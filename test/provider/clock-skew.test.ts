import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ClockSkew } from '../../src/provider/observed-call.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const header = (at: number) => new Date(at).toUTCString()

describe("how far the provider's clock is ahead", () => {
  test('is unknown until an answer tells', () => {
    const skew = new ClockSkew()
    expect(skew.ms).toBeUndefined()
    skew.note(undefined, NOW, NOW)
    expect(skew.ms).toBeUndefined()
  })

  test('is found to within a second, from the middle of the call', () => {
    fc.assert(
      fc.property(fc.integer({ min: -86_400_000, max: 86_400_000 }), fc.nat(10_000), (ahead, took) => {
        const skew = new ClockSkew()
        // They looked at their clock half way.
        skew.note(header(NOW + took / 2 + ahead), NOW, NOW + took)
        expect(Math.abs((skew.ms ?? Number.NaN) - ahead)).toBeLessThanOrEqual(501)
      }),
    )
  })

  test('is looked at once a second', () => {
    const skew = new ClockSkew()
    skew.note(header(NOW), NOW, NOW)
    skew.note(header(NOW + 90_000), NOW + 999, NOW + 999)
    expect(skew.ms).toBe(500)
    skew.note(header(NOW + 91_000), NOW + 1_000, NOW + 1_000)
    expect(skew.ms).toBe(90_500)
  })

  test('is looked at again after our own clock was set back', () => {
    const skew = new ClockSkew()
    skew.note(header(NOW), NOW, NOW)
    skew.note(header(NOW), NOW - 3_600_000, NOW - 3_600_000)
    expect(skew.ms).toBe(3_600_500)
  })

  test('is not believed of a call over which this machine slept, or its clock was set', () => {
    const skew = new ClockSkew()
    skew.note(header(NOW), NOW, NOW + 3_600_000)
    skew.note(header(NOW), NOW, NOW - 1)
    expect(skew.ms).toBeUndefined()
  })

  test.each([
    '',
    'yesterday',
    '0',
    '2026',
    '1',
    'Sat, 21 Nov 2026',
    '2026-11-21T10:00:00Z',
    'Sat, 21 Nov 2026 10:00:00 +0500',
  ])('is not read from %o', (text) => {
    const skew = new ClockSkew()
    skew.note(text, NOW, NOW)
    skew.note([text, text], NOW, NOW)
    expect(skew.ms).toBeUndefined()
  })
})
