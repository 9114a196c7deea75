import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { packPoll } from '../../../src/limits/findings.ts'
import { changeBetween, valuesOf } from '../../../src/limits/history/change.ts'
import { pack, READINGS_VERSION, UnreadableBytes } from '../../../src/limits/history/packed-bytes.ts'
import { changesBackward } from '../../../src/limits/history/packed-changes.ts'
import { decodeReadings, encodeReadings } from '../../../src/limits/history/packed-readings.ts'
import type { Pair } from '../../../src/limits/pair.ts'
import { type Reading, type Readings, readingKey } from '../../../src/limits/readings.ts'
import { REPORTS } from '../../../src/limits/reports/all-reports.ts'
import type { MetricKind, Report, ReportedValue } from '../../../src/limits/reports/report.ts'
import { defined } from '../../../src/runtime/defined.ts'
import { associations, properties, readings } from '../reports.ts'
import { GAP_MS } from './report-sequences.ts'

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

/** What Redis would hold after these polls, each of which knows nothing but what Redis held. */
function kept(polls: readonly { at: number; readings: Readings }[]): { stored: Buffer; records: Buffer[] } {
  let stored: Buffer | undefined
  const records: Buffer[] = []
  for (const { at, readings: after } of polls) {
    const before = stored === undefined ? undefined : decodeReadings(stored)
    const packed = packPoll(after, changeBetween(before, after, at, GAP_MS))
    stored = packed.readings
    if (packed.record !== undefined) records.push(packed.record)
  }
  return { stored: stored as Buffer, records }
}

const currentOf = (stored: Buffer) => valuesOf(decodeReadings(stored))

const changesOf = (stored: Buffer, records: readonly Buffer[]) =>
  [...changesBackward(currentOf(stored), records)].reverse()

describe('a record', () => {
  const before = readings(1, properties(100, 1_000, { '0-1': [5, 10] }), { '0-1/0-2': associations(500, [480]) })
  const recordFor = (after: Readings) => {
    return packPoll(after, changeBetween(before, after, 2, GAP_MS)).record?.length
  }

  test('of one number that moved a little takes 10 bytes', () => {
    expect(
      recordFor(readings(2, properties(103, 1_000, { '0-1': [5, 10] }), { '0-1/0-2': associations(500, [480]) })),
    ).toBe(10)
  })

  test('is none where nothing changed', () => {
    expect(
      recordFor({ ...before, customProperties: { ...(before.customProperties as Reading), at: 2 } }),
    ).toBeUndefined()
  })
})

describe('bytes that are not what was written', () => {
  const types = { '0-1': [5, 10], '2-77': [3, 10] } as Record<string, [number, number]>
  const polls = [
    { at: 10, readings: readings(10, properties(1, 10, types), { '0-1/0-2': associations(500, [480]) }) },
    { at: 20, readings: readings(20, properties(2, 10, { '0-1': [5, 10] })) },
    { at: 2_000_000, readings: readings(2_000_000, properties(2, 20, { '0-1': [6, 10], '2-9': [1, 0] })) },
  ]
  const { stored, records } = kept(polls)

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
    for (const [n, record] of records.entries()) {
      fc.assert(
        fc.property(damaged(record), (bytes) => {
          const changes = orUnreadable(() => changesOf(stored, [bytes, ...records.slice(n + 1)])) ?? []
          for (const [, was] of changes[0]?.before ?? []) expect(was?.usage ?? 0).toBeGreaterThanOrEqual(0)
        }),
        { numRuns: 60 },
      )
    }
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

  test('as records: of a series that is unknown, below 0, in the wrong order, from the future of a gap', () => {
    const read = (value: unknown) => changesOf(stored, [pack(7, value)])
    expect(() => read(new Map([[99, 4]]))).toThrow('series 99, which is unknown')
    expect(() => read(new Map([[0, -18]]))).toThrow('it has -18 where a count belongs')
    expect(() => read(new Map([['overall', [1, 2]]]))).toThrow('overall would have been there twice')
    expect(() => read(new Map([['type/2-5', 3]]))).toThrow('it has 3 where a list belongs')
    expect(() => read([new Map(), 7])).toThrow('a gap ends before')
    expect(() => read('x')).toThrow('it has x where a list belongs')
    expect(() =>
      changesOf(
        stored,
        [7, 7].map((at) => pack(at, new Map())),
      ),
    ).toThrow('change 1 is not older than the next')
  })
})
