import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changeBetween } from '../../src/limits/history/change.ts'
import { packMoves, packPoll } from '../../src/limits/history/pack-poll.ts'
import { packNumbers } from '../../src/limits/history/packed-numbers.ts'
import { decodeNumbers, encodeReadings } from '../../src/limits/history/packed-readings.ts'
import { type Slots, slotsFor } from '../../src/limits/history/standing.ts'
import { movesBetween } from '../../src/limits/moves.ts'
import type { Readings } from '../../src/limits/readings.ts'
import { seriesOf } from '../../src/limits/series.ts'

const NOW = 1_763_719_200_000
const HOUR = 3_600_000
const count = fc.nat(3)
const names = fc.record({
  types: fc.uniqueArray(fc.constantFrom('0-1', '0-2', '2-7', 'a/b'), { maxLength: 4 }),
  pairs: fc.uniqueArray(fc.constantFrom('0-1/0-2', '0-2/0-1', '0-1/0-3'), { maxLength: 3 }),
})

/** Numbers that often are what they were. */
function readingsOf({ types, pairs }: { types: string[]; pairs: string[] }, at: number): fc.Arbitrary<Readings> {
  const used = fc.record({ usage: count, limit: count })
  return fc
    .tuple(
      ...[used, fc.array(used, { minLength: types.length, maxLength: types.length })],
      fc.array(fc.record({ limit: count, atLimit: count, nearLimit: count, fullest: count }), {
        ...{ minLength: pairs.length, maxLength: pairs.length },
      }),
    )
    .map(([overall, all, found]) => ({
      customProperties: {
        at,
        report: {
          ...{ overallUsage: overall.usage, overallLimit: overall.limit, reportedPercentage: 0 },
          byObjectType: all.map(({ usage, limit }, n) => ({
            ...{ objectTypeId: types[n] as string, singularLabel: 'Thing', pluralLabel: 'Things' },
            ...{ usage, limit, reportedPercentage: 0 },
          })),
        },
      },
      associations: Object.fromEntries(found.map((numbers, n) => [pairs[n] as string, { at, ...numbers }])),
    }))
}

function slotsIn(readings: Readings, before: Slots = new Map()): Slots {
  return slotsFor(
    seriesOf(readings).map(({ id }) => id),
    before,
  )
}

const anyTwo = names.chain((one) =>
  fc.record({ names: fc.constant(one), before: readingsOf(one, NOW), after: readingsOf(one, NOW + HOUR) }),
)

test('what moved is what changed, and is packed as if all had been compared and packed anew', () => {
  fc.assert(
    fc.property(anyTwo, names, ({ names: { pairs }, before, after }, others) => {
      // Slots as they are where other series have come and gone.
      const gone = fc.sample(readingsOf(others, NOW), { seed: 1, numRuns: 1 })[0] as Readings
      const slots = slotsIn(before, slotsIn(gone))
      const types = after.customProperties?.report.byObjectType
      const kept = decodeNumbers(encodeReadings(before, slots), { types, pairs })
      expect(kept.readings).toEqual(before)
      const moves = movesBetween(kept, after) ?? []
      const change = changeBetween(before, after, NOW + HOUR, 2 * HOUR)
      expect(moves.map(({ was: { id, usage, limit } }) => [id, { usage, limit }])).toEqual(change?.before ?? [])
      const all = new Map(seriesOf(after).map((series) => [series.id, series]))
      for (const { series } of moves) expect(series).toEqual(all.get(series.id))
      const packed = packPoll(after, slots, change)
      expect(packMoves(NOW + HOUR, moves)).toEqual(packed.record)
      expect(Buffer.concat([packNumbers(after), kept.rest])).toEqual(packed.readings)
    }),
    { numRuns: 300 },
  )
})

test('of a report that names an object type twice, nobody can tell by its place', () => {
  const one = fc.sample(readingsOf({ types: ['0-1', '0-1'], pairs: [] }, NOW), { seed: 1, numRuns: 1 })[0] as Readings
  const types = one.customProperties?.report.byObjectType
  const kept = decodeNumbers(encodeReadings(one, slotsIn(one)), { types, pairs: [] })
  expect(movesBetween(kept, one)).toBeUndefined()
})
