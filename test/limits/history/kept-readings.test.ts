import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeReadings, encodeReadings } from '../../../src/limits/history/packed.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { properties, readings } from '../reports.ts'

const count = fc.oneof(fc.nat(2_000), fc.maxSafeNat())
const label = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.toWellFormed()),
  fc.constantFrom('', 'Contact', 'Contacts', 'a\0b', '\u0001b', '-'),
)
const percentage = fc.option(fc.double({ noNaN: true }), { nil: undefined })
const type = fc
  .record({
    objectTypeId: fc.string({ minLength: 1, maxLength: 8 }),
    ...{ singularLabel: label, pluralLabel: label, usage: count, limit: count, percentage },
  })
  .map(({ percentage, ...rest }) => ({ ...rest, ...reported(percentage) }))

/** As a program that computes them: of a few digits, or of all. */
function reported(percentage: number | undefined): { reportedPercentage?: number } {
  return percentage === undefined ? {} : { reportedPercentage: Object.is(percentage, -0) ? 0 : percentage }
}

const at = fc.nat(2 ** 47)
const anyReadings = fc.record(
  {
    customProperties: fc.record({
      at,
      report: fc
        .record({
          overallLimit: count,
          overallUsage: count,
          percentage,
          byObjectType: fc.array(type, { maxLength: 6 }),
        })
        .map(({ percentage, ...rest }) => ({ ...rest, ...reported(percentage) })),
    }),
    associations: fc.dictionary(
      fc.tuple(fc.string({ maxLength: 4 }), label).map(([from, to]) => `${from}/${to}`),
      fc.record({ at, limit: count, atLimit: count, nearLimit: count, fullest: count }),
      { maxKeys: 4, noNullPrototype: true },
    ),
  },
  { requiredKeys: ['associations'] },
) as fc.Arbitrary<Readings>

test('readings read back as they were kept', () => {
  fc.assert(
    fc.property(anyReadings, (one) => {
      expect(decodeReadings(encodeReadings(one))).toEqual(one)
    }),
    { numRuns: 400 },
  )
})

test('percentages of a few digits and of all read back exactly', () => {
  for (const percentage of [96.4, 33.333, 0.1, 100 / 3, 58.012, 1e-7, 123_456.789]) {
    const one = readings(1, { ...properties(1), reportedPercentage: percentage })
    expect(decodeReadings(encodeReadings(one))).toEqual(one)
  }
})

test('of an account with a hundred object types are kept in four kilobytes', () => {
  const types = Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [`2-${10_007_919 * (n + 1)}`, [n, 1_000] as [number, number]]),
  )
  expect(encodeReadings(readings(1, properties(1, 2, types))).length).toBeLessThan(5_000)
})
