import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Change, changeBetween, valuesOf } from '../../../src/limits/history/change.ts'
import { encodeAnew } from '../../../src/limits/history/encode-anew.ts'
import { decodeRecord } from '../../../src/limits/history/history-record.ts'
import { packPoll } from '../../../src/limits/history/pack-poll.ts'
import { UnreadableBytes } from '../../../src/limits/history/packed.ts'
import { decodeReadings } from '../../../src/limits/history/packed-readings.ts'
import { changesBackward, snapshotsBackward } from '../../../src/limits/history/read-back.ts'
import { Standing } from '../../../src/limits/history/standing.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { associations, properties, readings } from '../reports.ts'
import { type Expected, expectedOf, GAP_MS, sequences, sorted } from './report-sequences.ts'

/** What Redis would hold after these polls, each of which knows nothing but what Redis held. */
function kept(polls: readonly { at: number; readings: Readings }[]): { stored: Buffer; records: Buffer[] } {
  let stored: Buffer | undefined
  const records: Buffer[] = []
  for (const { at, readings: after } of polls) {
    const before = stored === undefined ? undefined : decodeReadings(stored)
    const change = changeBetween(before?.readings, after, at, GAP_MS)
    const packed = packPoll(after, before?.slots ?? new Map(), change)
    stored = packed.readings
    if (packed.record !== undefined) records.push(packed.record)
  }
  return { stored: stored as Buffer, records }
}

function standingOf(stored: Buffer): Standing {
  const { readings: last, slots } = decodeReadings(stored)
  return new Standing(valuesOf(last), slots)
}

const changesOf = (stored: Buffer, records: readonly Buffer[]) =>
  [...changesBackward(standingOf(stored), records)].reverse()

const timeOf = (record: Buffer | undefined) => record?.readUIntBE(1, 6) ?? 0

function expectReadsBack(expected: readonly Expected[], stored: Buffer, records: readonly Buffer[]): void {
  const standing = standingOf(stored)
  for (const { at, series, missingSince } of expected) {
    const [snapshot, ...more] = snapshotsBackward(standing, records, at, at)
    expect(more).toEqual([])
    expect(sorted(snapshot?.series ?? [])).toEqual(series)
    if (missingSince !== undefined) expect(snapshot).toMatchObject({ at, missingSince })
    else if (snapshot?.at === at) expect(snapshot).not.toHaveProperty('missingSince')
  }
}

describe('packed history', () => {
  test('reads back exactly what was reported at every poll, also after its oldest part was cut off', () => {
    fc.assert(
      fc.property(sequences(10), fc.nat(), (sequence, cut) => {
        const expected = expectedOf(sequence)
        if (expected.length === 0) return
        const { stored, records } = kept(expected)
        expect(decodeReadings(stored).readings).toEqual(expected.at(-1)?.readings)
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
        const changes = changesOf(asRead.stored, asRead.records)
        const thinned = dropped(changes, drop)
        const anew = encodeAnew({ changes, records: asRead.records, standing: standingOf(asRead.stored) }, thinned)
        expect(changes.slice(changes.length - anew.kept)).toEqual(thinned.slice(thinned.length - anew.kept))
        const now = kept(expected)
        const records = [...anew.records, ...now.records.slice(asRead.records.length - anew.kept)]
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
    const first = kept([{ at: 1, readings: before }])
    const { slots } = decodeReadings(first.stored)
    return packPoll(after, slots, changeBetween(before, after, 2, GAP_MS)).record?.length
  }

  test('of one number that moved a little takes 9 bytes', () => {
    expect(
      recordFor(readings(2, properties(103, 1_000, { '0-1': [5, 10] }), { '0-1/0-2': associations(500, [480]) })),
    ).toBe(9)
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
        for (const { usage } of valuesOf(found?.readings).values()) expect(Number.isSafeInteger(usage)).toBe(true)
      }),
      { numRuns: 500 },
    )
    for (const [n, record] of records.entries()) {
      fc.assert(
        fc.property(damaged(record), (bytes) => {
          const standing = standingOf(stored)
          for (const newer of records.slice(n + 1).reverse()) decodeRecord(newer, standing)
          const change = orUnreadable(() => decodeRecord(bytes, standing))
          for (const [, was] of change?.before ?? []) expect(was?.usage ?? 0).toBeGreaterThanOrEqual(0)
        }),
        { numRuns: 200 },
      )
    }
  })

  test.each([
    ['nothing at all', () => Buffer.alloc(0), 'ends too early'],
    ['of another version', () => Buffer.concat([Buffer.from([0x20]), stored.subarray(1)]), 'no version that is known'],
    ['cut off', () => stored.subarray(0, 9), 'ends too early'],
  ])('as readings: %s', (_, make, message) => {
    expect(() => decodeReadings(make())).toThrow(message)
  })

  test('as records: of a series that is unknown, below 0, in the wrong order, from the future of a gap', () => {
    const record = (...rest: number[]) => Buffer.from([0x10, 0, 0, 0, 0, 0, 7, ...rest])
    const read = (one: Buffer) => decodeRecord(one, standingOf(stored))
    expect(() => read(record(99, 4))).toThrow('series 99, which is unknown')
    expect(() => read(record(0, 1 + 4 * 20))).toThrow('overall would have been -18')
    expect(() => read(record(0, 0x80, 0x00))).toThrow('longer than it need be')
    expect(() => read(Buffer.from([0x11, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 7]))).toThrow('a gap ends before')
    const late = records.map((one) =>
      Buffer.concat([one.subarray(0, 1), Buffer.from([0, 0, 0, 0, 0, 7]), one.subarray(7)]),
    )
    expect(() => changesOf(stored, late.slice(0, 2))).toThrow()
  })
})
