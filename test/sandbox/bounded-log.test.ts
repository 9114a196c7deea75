import fc from 'fast-check'
import { expect, test } from 'vitest'
import { BoundedLog } from '../../src/sandbox/bounded-log.ts'

test('keeps the newest entries in order, however many come', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 5_000 }), fc.integer({ min: 1, max: 1_500 }), (entries, limit) => {
      const log = new BoundedLog<number>({ entries: limit })
      for (const entry of entries) log.add(entry)
      expect(log.all()).toEqual(entries.slice(-limit))
      expect(log.size).toBe(Math.min(limit, entries.length))
    }),
    { numRuns: 30 },
  )
})

test('keeps no more than its weight, but always the newest', () => {
  const log = new BoundedLog<string>({ entries: 100, weight: 10, weigh: (text) => text.length })
  for (const text of ['12345', '123', '1234567']) log.add(text)
  expect(log.all()).toEqual(['123', '1234567'])
  log.add('far more than ten')
  expect(log.all()).toEqual(['far more than ten'])
})
