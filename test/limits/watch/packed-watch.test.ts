import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { UnreadableBytes } from '../../../src/limits/history/packed-bytes.ts'
import { decodeWatch, encodeWatch, type StoredWatch } from '../../../src/limits/watch/packed-watch.ts'
import { readableWatch } from '../../../src/limits/watch/read-watch.ts'
import { NEW_WATCH, type Watch } from '../../../src/limits/watch/watch.ts'
import { packedReadings, watches } from './watches.ts'

const NOW = 1_763_719_200_000

/** What can be told of it: `readings` as text. */
const told = ({ watch, readings, isInterrupted }: StoredWatch) => ({
  watch,
  isInterrupted,
  readings: readings?.toString('hex'),
})

const marked = (packed: Buffer, mark: string) => {
  const other = Buffer.from(packed)
  other.write(mark, 0)
  return other
}

describe('what polls know of an account, packed', () => {
  test('reads back as it was, with its numbers', () => {
    fc.assert(
      fc.property(watches, packedReadings, (watch, readings) => {
        const read = decodeWatch(encodeWatch(watch, readings))
        expect(told(read)).toEqual(told({ watch, readings, isInterrupted: false }))
      }),
    )
  })

  test('is never read as something else where one of its bytes is another', () => {
    fc.assert(
      fc.property(watches, packedReadings, fc.integer({ min: 1, max: 255 }), (watch, readings, flipped) => {
        const packed = encodeWatch(watch, readings)
        const asWritten = told(decodeWatch(packed))
        for (let at = 0; at < packed.length; at++) {
          const spoiled = Buffer.from(packed)
          spoiled[at] = (packed[at] ?? 0) ^ flipped
          // A step on the account writes these.
          if (at === 0 && ['s', 'g'].includes(String.fromCharCode(spoiled[0] ?? 0))) continue
          const read = readableWatch(spoiled)
          if (read !== 'unreadable') expect(told(read)).toEqual(asWritten)
        }
      }),
      { numRuns: 50 },
    )
  })

  test('is not read where its end is missing, or something stands behind it', () => {
    fc.assert(
      fc.property(watches, packedReadings, fc.nat(), (watch, readings, cut) => {
        const packed = encodeWatch(watch, readings)
        expect(readableWatch(packed.subarray(0, cut % packed.length))).toBe('unreadable')
        expect(readableWatch(Buffer.concat([packed, Buffer.from('1')]))).toBe('unreadable')
      }),
    )
  })

  test.each(['', '1', '\n', '1 \n', '100000000 \n', 'x00000000 \n'])('is unreadable if it is %j', (stored) => {
    expect(() => decodeWatch(Buffer.from(stored))).toThrow(UnreadableBytes)
  })

  test('with a mark that is unknown tells so', () => {
    expect(() => decodeWatch(marked(encodeWatch(NEW_WATCH, undefined), '2'))).toThrow('it begins with 50')
  })

  test('has no more than its moment where nothing else is to be said', () => {
    expect(encodeWatch({ ...NEW_WATCH, polledAt: NOW }, undefined).toString()).toMatch(
      /^1[\da-f]{8} \{"polledAt":1763719200000\}\n$/,
    )
  })

  test('is small: an account at rest has one line of less than 400 bytes', () => {
    const atRest: Watch = {
      ...NEW_WATCH,
      polledAt: NOW,
      changedAt: NOW,
      hasAlerts: true,
      calls: [[NOW, 3]],
      turn: { regularAt: NOW, because: { is: 'still' } },
      bucket: { refused: 0, lastSeen: { used: 10, of: 110, intervalMs: 10_000, at: NOW } },
      seen: { answers: '123456'.repeat(4), records: '123456'.repeat(4), judged: '12345678' },
    }
    expect(encodeWatch(atRest, undefined).length).toBeLessThan(400)
  })
})

describe('a mark', () => {
  const seen = { answers: 'a', records: 'c', judged: 'd' }
  const troubled: Watch = {
    ...NEW_WATCH,
    polledAt: NOW,
    changedAt: NOW - 5,
    typesLeftOut: 3,
    allPairsRead: true,
    hasAlerts: true,
    seen,
    turn: { regularAt: NOW, because: { is: 'failed' } },
    failing: { count: 2, reason: 'away', at: NOW, since: NOW - 9 },
    blocked: { what: 'part', since: NOW - 9, scopes: ['oauth'] },
    gaps: { 'custom properties': ['x'] },
    notAvailable: { pipelines: NOW + 5 },
    unconfirmed: { records: { polls: 2, at: NOW - 5 } },
    companionsAwayUntil: NOW + 5,
    calls: [[NOW, 3]],
    records: { readAt: NOW, until: NOW + 5 },
  }
  const readings = Buffer.from('numbers')
  const packed = encodeWatch(troubled, readings)

  test('that it was stopped leaves all but what the last poll saw', () => {
    const read = decodeWatch(marked(packed, 's'))
    expect(told(read)).toEqual(told({ watch: { ...troubled, seen: undefined }, readings, isInterrupted: true }))
  })

  test('of a new grant also leaves out what went wrong before, and when it was to be polled', () => {
    const { watch, ...others } = decodeWatch(marked(packed, 'g'))
    const fine = { failing: undefined, blocked: undefined, notAvailable: {}, unconfirmed: {}, companionsAwayUntil: 0 }
    expect(watch).toEqual({ ...troubled, ...fine, turn: undefined, seen: undefined })
    expect(others).toEqual({ readings, isInterrupted: true })
  })

  test('is over with the next poll', () => {
    const { watch, readings: kept } = decodeWatch(marked(packed, 's'))
    expect(decodeWatch(encodeWatch(watch, kept)).isInterrupted).toBe(false)
  })
})
