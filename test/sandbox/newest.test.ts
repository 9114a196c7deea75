import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Newest } from '../../src/sandbox/newest.ts'

test('keeps the newest entries in order, half of the most or more, however many come', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 2_000 }), fc.integer({ min: 1, max: 500 }), (entries, most) => {
      const log = new Newest<number>(most)
      for (const entry of entries) log.add(entry)
      const kept = log.all()
      expect(kept).toEqual(entries.slice(entries.length - kept.length))
      expect(kept.length).toBeLessThanOrEqual(most)
      expect(kept.length).toBeGreaterThanOrEqual(Math.min(entries.length, most / 2))
    }),
    { numRuns: 30 },
  )
})

test('drops the older half of too much text, but never the newest entry', () => {
  const log = new Newest<number>(100, (characters) => characters)
  for (const characters of [1, 60_000_000, 2, 3]) log.add(characters)
  expect(log.all()).toHaveLength(4)
  log.add(10_000_000)
  expect(log.all()).toEqual([2, 3, 10_000_000])
  log.add(100_000_000)
  expect(log.all().at(-1)).toBe(100_000_000)
})
