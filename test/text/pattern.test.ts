import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fits } from '../../src/text/pattern.ts'

describe('a pattern', () => {
  test.each([
    ['abc', 'abc', true],
    ['abc', 'abcd', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['a*', 'a', true],
    ['a*', 'ba', false],
    ['*.example.com', 'a.b.example.com', true],
    ['*.example.com', 'example.com', false],
    ['*.example.com', 'x.example.com.evil.org', false],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['ab*bc', 'abc', false],
    ['**', 'x', true],
    ['a**b', 'ab', true],
    ['2-*', '2-123', true],
    ['2-*', '12-1', false],
    ['a.c', 'abc', false],
    ['', '', true],
    ['', 'x', false],
  ])('%j fits %j: %s', (pattern, text, does) => {
    expect(fits(pattern, text)).toBe(does)
  })

  test('fits exactly what the same pattern as a regular expression fits', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 8 })
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 10 })
    fc.assert(
      fc.property(piece, text, (pattern, one) => {
        const expression = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '.*')}$`)
        expect(fits(pattern, one)).toBe(expression.test(one))
      }),
      { numRuns: 500 },
    )
  })
})
