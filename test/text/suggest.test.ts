import { expect, test } from 'vitest'
import { editDistance, suggest } from '../../src/text/suggest.ts'

test.each([
  ['', '', 0],
  ['abc', 'abc', 0],
  ['', 'abc', 3],
  ['critcal', 'critical', 1],
  ['osp', 'ops', 1],
  ['kitten', 'sitting', 3],
])('%j is %j away from the other by %d', (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance)
  expect(editDistance(b, a)).toBe(distance)
})

test.each([
  ['treshold', ['threshold', 'theatre'], 'threshold'],
  ['ClientID', ['clientId'], 'clientId'],
  ['on', ['to', 'off'], undefined],
  ['x', ['y'], undefined],
  ['everything', ['info', 'warn'], undefined],
  ['x'.repeat(200), ['x'.repeat(199)], undefined],
])('for %s of %j it suggests %s', (word, candidates, expected) => {
  expect(suggest(word, candidates)).toBe(expected)
})
