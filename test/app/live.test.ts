import { expect, test } from 'vitest'
import { live } from '../../src/app/live.ts'

test('is read anew at each look, whoever keeps it', () => {
  let values: Record<string, number> = { a: 1 }
  const kept = live(() => values)
  const { a } = kept
  values = { a: 2, b: 3 }
  expect(a).toBe(1)
  expect(kept.a).toBe(2)
  expect('b' in kept).toBe(true)
  expect(Object.keys(kept)).toEqual(['a', 'b'])
  expect({ ...kept }).toEqual({ a: 2, b: 3 })
})

test('values that are frozen can be looked at too', () => {
  const kept = live(() => Object.freeze({ a: 1 }))
  expect({ ...kept, b: 2 }).toEqual({ a: 1, b: 2 })
})
