import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeReadings, encodeReadings, type Fetched, mergeReadings, pairId } from '../../src/limits/readings.ts'
import type { ProviderFailure } from '../../src/provider/failure.ts'
import { associations, properties, readings } from './reports.ts'

const FAILURE: ProviderFailure = { class: 'transient', code: '503', message: 'x', status: 503 }

function fetched(
  at: number,
  report: Fetched['customProperties'],
  pairs: Record<string, ReturnType<typeof associations> | ProviderFailure> = {},
): Fetched {
  return { at, customProperties: report, associations: new Map(Object.entries(pairs)) }
}

describe('the readings that count from now on', () => {
  const before = readings(1, properties(10), {
    a: associations(100, [90]),
    b: associations(200),
    gone: associations(9),
  })

  test('are the new ones where all could be read', () => {
    const all = fetched(2, properties(11), { a: associations(101), b: associations(201) })
    expect(mergeReadings(before, all)).toEqual(
      readings(2, properties(11), { a: associations(101), b: associations(201) }),
    )
  })

  test('are the old ones, with their own time, where a call failed', () => {
    const part = mergeReadings(before, fetched(2, FAILURE, { a: FAILURE, b: associations(201) }))
    expect(part).toEqual({
      customProperties: { at: 1, report: properties(10) },
      associations: { a: { at: 1, report: associations(100, [90]) }, b: { at: 2, report: associations(201) } },
    })
  })

  test('have nothing where there never was anything', () => {
    expect(mergeReadings(undefined, fetched(2, FAILURE, { a: FAILURE }))).toEqual({ associations: {} })
    expect(mergeReadings(undefined, fetched(2, properties(1), { a: FAILURE }))).toEqual(readings(2, properties(1)))
  })

  test('have no pair that is not watched any more', () => {
    expect(Object.keys(mergeReadings(before, fetched(2, properties(1), { a: FAILURE })).associations)).toEqual(['a'])
  })

  test('do not change the readings before', () => {
    const copy = structuredClone(before)
    mergeReadings(before, fetched(2, properties(11), { a: associations(1) }))
    expect(before).toEqual(copy)
  })
})

test('readings read back as they were kept, in fewer bytes', () => {
  const label = fc.string({ unit: 'grapheme', maxLength: 40 })
  fc.assert(
    fc.property(fc.array(label, { maxLength: 20 }), (labels) => {
      const one = readings(
        7,
        properties(1, 2, Object.fromEntries(labels.map((text, n) => [`2-${n}${text.toWellFormed()}`, [n, 9]]))),
      )
      expect(decodeReadings(encodeReadings(one))).toEqual(one)
    }),
  )
  const big = readings(
    1,
    properties(1, 2, Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`2-${n}`, [n, 1_000]]))),
  )
  expect(encodeReadings(big).length).toBeLessThan(JSON.stringify(big).length / 4)
})

test('a pair is named by both of its ends, in their order', () => {
  expect([pairId({ from: '0-1', to: '0-2' }), pairId({ from: '0-2', to: '0-1' })]).toEqual(['0-1/0-2', '0-2/0-1'])
})
