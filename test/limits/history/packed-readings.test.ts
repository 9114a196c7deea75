import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeReadings, encodeReadings } from '../../../src/limits/history/packed-readings.ts'
import { type Slots, slotsFor } from '../../../src/limits/history/standing.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { seriesOf } from '../../../src/limits/series.ts'
import { properties, readings } from '../reports.ts'

const idsOf = (one: Readings) => seriesOf(one).map(({ id }) => id)

const count = fc.oneof(fc.nat(2_000), fc.maxSafeNat())
const label = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.toWellFormed()),
  fc.constantFrom('', 'Contact', 'Contacts', 'a\0b', '\u0001b', '-'),
)
const percentage = fc.oneof(fc.constantFrom<'rounded' | 'exact'>('rounded', 'exact'), fc.double({ noNaN: true }))
const type = fc
  .record({
    objectTypeId: fc.string({ minLength: 1, maxLength: 8 }),
    singular: label,
    plural: label,
    count,
    limit: count,
    percentage,
  })
  .map(({ objectTypeId, singular, plural, count: usage, limit, percentage: how }) => ({
    ...{ objectTypeId, singularLabel: singular, pluralLabel: plural === 'Contacts' ? `${singular}s` : plural },
    ...{ limit, usage, reportedPercentage: percentageOf(how, usage, limit) },
  }))

function percentageOf(how: 'rounded' | 'exact' | number, usage: number, limit: number): number {
  if (typeof how === 'number') return how
  if (limit === 0) return 0
  return how === 'exact' ? (usage * 100) / limit : Math.round((usage * 100_000) / limit) / 1_000
}

const at = fc.nat(2 ** 47)
const anyReadings = fc.record(
  {
    customProperties: fc.record({
      at,
      report: fc.record({
        ...{ overallLimit: count, overallUsage: count, reportedPercentage: fc.double({ noNaN: true }) },
        byObjectType: fc.array(type, { maxLength: 6 }),
      }),
    }),
    associations: fc.dictionary(
      fc.tuple(fc.string({ maxLength: 4 }), label).map(([from, to]) => `${from}/${to}`),
      fc.record({ at, limit: count, atLimit: count, nearLimit: count, fullest: count }),
      { maxKeys: 4, noNullPrototype: true },
    ),
  },
  { requiredKeys: ['associations'] },
) as fc.Arbitrary<Readings>

test('readings read back as they were kept, with the slots of their series', () => {
  fc.assert(
    fc.property(anyReadings, anyReadings, (before, after) => {
      const first = slotsFor(idsOf(before), new Map())
      const slots = slotsFor(idsOf(after), first)
      const { packedTexts, ...kept } = decodeReadings(encodeReadings(after, slots))
      expect(kept).toEqual({ readings: after, slots })
      // As well without unpacking or packing the names, where they are known.
      const again = encodeReadings(after, slots, packedTexts)
      expect(again).toEqual(encodeReadings(after, slots))
      expect(decodeReadings(again, after)).toEqual({ ...kept, packedTexts })
    }),
    { numRuns: 400 },
  )
})

test('of an account with a hundred object types are kept in a kilobyte', () => {
  const types = Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [`2-${10_007_919 * (n + 1)}`, [n, 1_000] as [number, number]]),
  )
  const one = readings(1, properties(1, 2, types))
  expect(encodeReadings(one, slotsFor(idsOf(one), new Map())).length).toBeLessThan(1_024)
})

test('a series keeps its slot while it exists; a new one takes the lowest that is free', () => {
  const slots = (before: Slots, ...ids: string[]) => slotsFor(ids, before)
  const first = slots(new Map(), 'a', 'b', 'c')
  expect(first).toEqual(new Map(Object.entries({ a: 0, b: 1, c: 2 })))
  const second = slots(first, 'd', 'a', 'c', 'e')
  expect(second).toEqual(new Map(Object.entries({ d: 1, a: 0, c: 2, e: 3 })))
  expect(slots(second, 'c')).toEqual(new Map([['c', 2]]))
})
