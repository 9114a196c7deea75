import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Pair, pairId } from '../../../src/limits/pair.ts'
import {
  askableTypes,
  type BusyPairs,
  type ChooseFrom,
  choosePairs,
  chooseSources,
} from '../../../src/limits/polling/choose-pairs.ts'
import type { PairReading } from '../../../src/limits/readings.ts'

const reading = (at: number, isBusy = false): PairReading => ({ at, limit: 100, isBusy })
type All = Record<string, PairReading>
const busy = (targets: Record<string, string[]>, sources = Object.keys(targets)): BusyPairs => ({
  sources,
  targets: new Map(Object.entries(targets)),
})
const ids = (pairs: readonly Pair[]) => pairs.map(pairId)

function chosen({ readings = {}, ...from }: Partial<Omit<ChooseFrom, 'readings'>> & { readings?: All }) {
  const { ask, empty } = choosePairs({
    types: ['0-1', '0-2', '0-3'],
    readings: new Map(Object.entries(readings)),
    busy: 'away',
    pairsPerPoll: 20,
    ...from,
  })
  return { ask: ids(ask), empty: ids(empty) }
}

describe('automatic pairs without companions', () => {
  test('take turns: each is asked as often as any', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), fc.integer({ min: 1, max: 30 }), (count, pairsPerPoll) => {
        const types = Array.from({ length: count }, (_, n) => `2-${n}`)
        const all = count * count
        const round = Math.ceil(all / pairsPerPoll)
        const readings: All = {}
        const polls: string[][] = []
        for (let poll = 1; poll <= 3 * round; poll++) {
          const { ask } = chosen({ types, readings, pairsPerPoll })
          expect(ask.length).toBe(Math.min(all, pairsPerPoll))
          for (const id of ask) readings[id] = reading(poll)
          polls.push(ask)
          if (polls.length >= round) expect(new Set(polls.slice(-round).flat()).size).toBe(all)
        }
      }),
      { numRuns: 30 },
    )
  })
})

describe('automatic pairs with companions', () => {
  test('are empty only as far as was asked: where an object type leads to is unknown if it could not be asked', () => {
    const readings = { '0-1/0-2': reading(1), '0-2/0-1': reading(1), '0-3/0-1': reading(1) }
    const half = busy({ '0-2': ['0-3'] }, ['0-1', '0-2'])
    expect(chosen({ busy: half, readings })).toEqual({ ask: ['0-2/0-3'], empty: ['0-2/0-1', '0-3/0-1'] })
  })

  test('are at most so many, those never read first, then those that have waited longest', () => {
    const from = {
      readings: { '0-1/0-2': reading(5), '0-2/0-1': reading(3, true) },
      busy: busy({ '0-1': ['0-2', '0-3'] }),
    }
    expect(chosen(from).ask).toEqual(['0-1/0-3', '0-2/0-1', '0-1/0-2'])
    // What is not asked for for want of room keeps what it was.
    expect(chosen({ ...from, pairsPerPoll: 2 })).toEqual({ ask: ['0-1/0-3', '0-2/0-1'], empty: [] })
  })

  test('never are asked for and empty at once, nor more than allowed, nor of foreign object types', () => {
    const type = fc.constantFrom('0-1', '0-2', '0-3', '2-9')
    const pair = fc.tuple(type, type).map(([from, to]) => `${from}/${to}`)
    const last = fc.record({ at: fc.nat(9), limit: fc.nat(9), isBusy: fc.boolean() })
    const named = fc.dictionary(type, fc.array(type))
    fc.assert(
      fc.property(
        fc.dictionary(pair, last),
        named,
        fc.array(type),
        fc.integer({ min: 1, max: 5 }),
        (readings, targets, more, pairsPerPoll) => {
          const says = busy(targets, [...Object.keys(targets), ...more])
          const { ask, empty } = chosen({ readings, busy: says, pairsPerPoll })
          expect(ask.length).toBeLessThanOrEqual(pairsPerPoll)
          expect(new Set([...ask, ...empty]).size).toBe(ask.length + empty.length)
          for (const id of [...ask, ...empty]) expect(id).not.toContain('2-9')
          for (const id of empty) expect(readings[id]).toMatchObject({ isBusy: false })
        },
      ),
    )
  })
})

describe('object types whose targets are asked for', () => {
  const source = (objectTypeId: string, at = true, near = false) => ({
    objectTypeId,
    hasRecordsAtLimit: at,
    hasRecordsNearLimit: near,
  })
  const from = { types: ['0-1', '0-2', '0-3'], readings: new Map(), pairsPerPoll: 20 }

  test('are those of the account that have records at or near a limit, each once', () => {
    const named = [source('0-3', false, true), source('0-1'), source('0-2', false, false), source('2-9'), source('0-1')]
    expect(chooseSources(named, from)).toEqual(['0-3', '0-1'])
  })

  test('are at most as many as pairs, those that have waited longest first', () => {
    const readings = new Map(Object.entries({ '0-1/0-2': reading(1), '0-1/0-3': reading(9), '0-2/0-1': reading(5) }))
    const all = [source('0-1'), source('0-2'), source('0-3')]
    expect(chooseSources(all, { ...from, readings, pairsPerPoll: 2 })).toEqual(['0-3', '0-2'])
  })
})

const naming = (...ids: string[]) => askableTypes(ids)

test('what can be no object type is none', () => {
  expect(naming('contacts', '0-1/0-2', '', '../x', '0-1 ', '-1', `0-${'9'.repeat(19)}`, '0-5')).toEqual(['0-5'])
})

test('a report of thousands is not followed to millions of pairs', () => {
  const ids = Array.from({ length: 5_000 }, (_, n) => `2-${n}`)
  expect(naming(...ids)).toHaveLength(100)
  expect(naming(...ids.reverse())).toEqual(naming(...ids.reverse()))
})
