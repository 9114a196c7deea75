import { describe, expect, test } from 'vitest'
import { pairId } from '../../src/limits/pair.ts'
import { failuresOf, mergeReadings } from '../../src/limits/readings.ts'
import type { ProviderFailure } from '../../src/provider/failure.ts'
import { associations, fetched, pairNumbers, properties, readings } from './reports.ts'

const FAILURE: ProviderFailure = { class: 'transient', code: '503', message: 'x', status: 503 }

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
    const part = mergeReadings(before, fetched(2, undefined, { a: FAILURE, b: associations(201) }))
    expect(part.customProperties).toEqual(readings(1, properties(10)).customProperties)
    expect(pairNumbers(part)).toEqual({
      a: { at: 1, limit: 100, atLimit: 0, nearLimit: 1, fullest: 90 },
      b: { at: 2, limit: 201, atLimit: 0, nearLimit: 0, fullest: 0 },
    })
  })

  test('have nothing where there never was anything', () => {
    expect(mergeReadings(undefined, fetched(2, undefined, { a: FAILURE }))).toEqual({})
    expect(mergeReadings(undefined, fetched(2, properties(1), { a: FAILURE }))).toEqual(readings(2, properties(1)))
  })

  test('have no pair that is not watched any more', () => {
    expect(Object.keys(pairNumbers(mergeReadings(before, fetched(2, properties(1), { a: FAILURE }))))).toEqual(['a'])
  })

  test('do not change the readings before', () => {
    const copy = structuredClone(before)
    mergeReadings(before, fetched(2, properties(11), { a: associations(1) }))
    expect(before).toEqual(copy)
  })
})

test('the failures of a poll are all of them', () => {
  const one = fetched(1, undefined, { a: associations(1), b: { ...FAILURE, code: '429' } })
  expect(failuresOf(one.reports.values()).map(({ code }) => code)).toEqual(['503', '429'])
  expect(failuresOf(fetched(1, properties(1), { a: associations(1) }).reports.values())).toEqual([])
})

test('a pair is named by both of its ends, in their order', () => {
  expect([pairId({ from: '0-1', to: '0-2' }), pairId({ from: '0-2', to: '0-1' })]).toEqual(['0-1/0-2', '0-2/0-1'])
})
