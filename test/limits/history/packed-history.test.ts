import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { packPoll } from '../../../src/limits/findings.ts'
import { type Change, changeBetween, undo, type Value, valuesOf } from '../../../src/limits/history/change.ts'
import {
  changesBackward,
  decodeReadings,
  encodeChanges,
  pack,
  UnreadableBytes,
} from '../../../src/limits/history/packed.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { parseSeriesId } from '../../../src/limits/series.ts'
import { associations, properties, readings } from '../reports.ts'
import { type Expected, expectedOf, GAP_MS, sequences, sorted } from './report-sequences.ts'

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

const timeOf = (record: Buffer | undefined) => record?.readUIntBE(1, 6) ?? 0

function expectReadsBack(expected: readonly Expected[], stored: Buffer, records: readonly Buffer[]): void {
  const changes = changesOf(stored, records)
  for (const { at, series, missingSince } of expected) {
    const values = currentOf(stored)
    for (const change of changes.toReversed()) if (change.at > at) undo(values, change)
    expect(sorted([...values].map(plain))).toEqual(series)
    const own = changes.find((change) => change.at === at)
    if (missingSince !== undefined) expect(own).toMatchObject({ missingSince })
    else expect(own ?? {}).not.toHaveProperty('missingSince')
  }
}

function plain([id, { usage, limit }]: [string, Value]): object {
  return { ...parseSeriesId(id), usage, limit, percent: limit === null ? null : (usage * 100) / limit }
}

describe('packed history', () => {
  test('reads back exactly what was reported at every poll, also after its oldest part was cut off', () => {
    fc.assert(
      fc.property(sequences(10), fc.nat(), (sequence, cut) => {
        const expected = expectedOf(sequence)
        if (expected.length === 0) return
        const { stored, records } = kept(expected)
        expect(decodeReadings(stored)).toEqual(expected.at(-1)?.readings)
        expectReadsBack(expected, stored, records)
        const left = records.slice(cut % records.length)
        const since = timeOf(left[0])
        expectReadsBack(
          expected.filter(({ at }) => at >= since),
          stored,
          left,
        )
      }),
      { numRuns: 500 },
    )
  })

  test('reads back what is left of it after it was thinned out, with polls that came meanwhile', () => {
    fc.assert(
      fc.property(sequences(8), sequences(4), fc.array(fc.boolean(), { maxLength: 30 }), (first, later, drop) => {
        const shift = first.at(-1)?.at ?? 0
        const expected = expectedOf([...first, ...later.map((one) => ({ ...one, at: one.at + shift }))])
        const read = expected.filter(({ at }) => at <= shift)
        if (read.length === 0) return
        const asRead = kept(read)
        const thinned = dropped(changesOf(asRead.stored, asRead.records), drop)
        const anew = encodeChanges(thinned, currentOf(asRead.stored))
        expect(changesOf(asRead.stored, anew)).toEqual(thinned)
        const changes = changesOf(asRead.stored, asRead.records)
        const now = kept(expected)
        const records = [...anew, ...now.records.slice(asRead.records.length)]
        const left = new Set(thinned.map(({ at }) => at))
        // Right wherever the last change until then is one that was left.
        const told = (at: number) => left.has(changes.findLast((change) => change.at <= at)?.at ?? 0)
        expectReadsBack(
          expected.filter(({ at }) => told(at)),
          now.stored,
          records,
        )
      }),
      { numRuns: 300 },
    )
  })
})

/** Without the marked ones: what each of them changed is told by the next that is left. The last one stays. */
function dropped(changes: readonly Change[], drop: readonly boolean[]): Change[] {
  const left: Change[] = []
  let carried = new Map<string, Change['before'][number][1]>()
  for (const [n, change] of changes.entries()) {
    const before = new Map(change.before)
    for (const [id, was] of carried) before.set(id, was)
    if (drop[n] === true && n < changes.length - 1) {
      carried = before
      continue
    }
    left.push({ ...change, before: carried.size === 0 ? change.before : [...before] })
    carried = new Map()
  }
  return left
}

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
    expect(recordFor({ ...before, customProperties: { ...before.customProperties, at: 2 } as never })).toBeUndefined()
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
      { numRuns: 500 },
    )
    for (const [n, record] of records.entries()) {
      fc.assert(
        fc.property(damaged(record), (bytes) => {
          const changes = orUnreadable(() => changesOf(stored, [bytes, ...records.slice(n + 1)])) ?? []
          for (const [, was] of changes[0]?.before ?? []) expect(was?.usage ?? 0).toBeGreaterThanOrEqual(0)
        }),
        { numRuns: 200 },
      )
    }
  })

  test.each([
    ['nothing at all', () => Buffer.alloc(0), 'no version that is known'],
    ['of another version', () => Buffer.concat([Buffer.from([3]), stored.subarray(1)]), 'no version that is known'],
    ['cut off', () => stored.subarray(0, 9), 'end of MessagePack data'],
  ])('as readings: %s', (_, make, message) => {
    expect(() => decodeReadings(make())).toThrow(message)
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
