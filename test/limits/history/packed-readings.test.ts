import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { valuesOf } from '../../../src/limits/history/change.ts'
import { pack, READINGS_VERSION, UnreadableBytes } from '../../../src/limits/history/packed-bytes.ts'
import { decodeReadings, encodeReadings } from '../../../src/limits/history/packed-readings.ts'
import type { Pair } from '../../../src/limits/pair.ts'
import { type Reading, type Readings, readingKey } from '../../../src/limits/readings.ts'
import { REPORTS } from '../../../src/limits/reports/all-reports.ts'
import type { MetricKind, Report, ReportedValue } from '../../../src/limits/reports/report.ts'
import { defined } from '../../../src/runtime/defined.ts'
import { associations, properties, readings } from '../reports.ts'

const count = fc.oneof(fc.nat(2_000), fc.maxSafeNat())
const label = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 12 }).map((text) => text.toWellFormed()),
  fc.constantFrom('', 'Contact', 'Contacts', 'a\0b', '\u0001b', '-'),
)
/** As a program that computes them: of a few digits, or of all. */
const percentage = fc.option(
  fc.double({ noNaN: true }).map((share) => (Object.is(share, -0) ? 0 : share)),
  { nil: undefined },
)
const at = fc.nat(2 ** 47)

/** Any value of a metric, by what it is about. */
function anyValue(metric: string, { about }: MetricKind, pair: Pair): fc.Arbitrary<ReportedValue> {
  const name = {
    account: fc.constant({ metric }),
    objectType: fc.string({ minLength: 1, maxLength: 8 }).map((objectTypeId) => ({ metric, objectTypeId })),
    pair: fc.constant({ metric, ...pair }),
  }[about]
  return fc
    .tuple(name, fc.record({ usage: count, limit: count }), fc.option(label, { nil: undefined }), percentage)
    .map(([named, numbers, label, reported]) => ({ ...named, ...numbers, ...defined({ label, reported }) }))
}

function anyReading(report: Report, pair: Pair): fc.Arbitrary<[string, Reading]> {
  const values = Object.entries(report.metrics).map(([metric, kind]) => anyValue(metric, kind, pair))
  const some = fc.array(fc.oneof(...values), { maxLength: 8 })
  return fc.record({ at, values: some }).map((reading) => [readingKey(report, pair), reading])
}

const end = fc.string({ minLength: 1, maxLength: 4 }).filter((text) => !text.includes('/'))
const anyReadings: fc.Arbitrary<Readings> = fc
  .tuple(...REPORTS.map((report) => fc.record({ from: end, to: end }).chain((pair) => anyReading(report, pair))))
  .chain((all) => fc.subarray(all))
  .map((some) => Object.fromEntries(some))

test('readings read back as they were kept', () => {
  fc.assert(
    fc.property(anyReadings, (one) => {
      expect(decodeReadings(encodeReadings(one))).toEqual(one)
    }),
    { numRuns: 100 },
  )
})

test('of an account with a hundred object types are kept in four kilobytes', () => {
  const types = Object.fromEntries(
    Array.from({ length: 100 }, (_, n) => [`2-${10_007_919 * (n + 1)}`, [n, 1_000] as [number, number]]),
  )
  expect(encodeReadings(readings(1, properties(1, 2, types))).length).toBeLessThan(5_000)
})

describe('bytes that are not what was written', () => {
  const types = { '0-1': [5, 10], '2-77': [3, 10] } as Record<string, [number, number]>
  const stored = encodeReadings(readings(10, properties(1, 10, types), { '0-1/0-2': associations(500, [480]) }))

  const damaged = (bytes: Buffer) =>
    fc.oneof(
      fc.nat(bytes.length - 1).map((length) => bytes.subarray(0, length)),
      fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)).map(([at, value]) => {
        const copy = Buffer.from(bytes)
        copy[at] = value
        return copy
      }),
      fc.uint8Array({ minLength: 1, maxLength: 9 }).map((more) => Buffer.concat([bytes, more])),
    )

  const orUnreadable = <T>(read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      expect(error).toBeInstanceOf(UnreadableBytes)
      return undefined
    }
  }

  test('are numbers at worst, or told to be unreadable; never another error', () => {
    fc.assert(
      fc.property(damaged(stored), (bytes) => {
        const found = orUnreadable(() => decodeReadings(bytes))
        for (const { usage } of valuesOf(found).values()) expect(Number.isSafeInteger(usage)).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  test.each([
    ['nothing at all', () => Buffer.alloc(0), 'no version that is known'],
    ['of another version', () => Buffer.concat([Buffer.from([9]), stored.subarray(1)]), 'no version that is known'],
    ['cut off', () => stored.subarray(0, 9), 'end of MessagePack data'],
  ])('as readings: %s', (_, make, message) => {
    expect(() => decodeReadings(make())).toThrow(message)
  })

  test('as readings: of a report of a later version, without which changes would be read as those of other series', () => {
    expect(() => decodeReadings(pack(1, [['ofLaterVersion', 0, [0, 1, 2]]], READINGS_VERSION))).toThrow(
      'ofLaterVersion, a report that this version does not know',
    )
  })
})
