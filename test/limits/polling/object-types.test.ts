import { expect, test } from 'vitest'
import { objectTypesOf } from '../../../src/limits/polling/choose-pairs.ts'
import { properties } from '../reports.ts'

const naming = (...ids: string[]) => {
  const report = properties(1)
  const type = { singularLabel: 'x', pluralLabel: 'x', limit: 1, usage: 0, reportedPercentage: 0 }
  return objectTypesOf({ ...report, byObjectType: ids.map((objectTypeId) => ({ ...type, objectTypeId })) })
}

test('object types are those that a report names, each once', () => {
  expect(naming('0-1', '2-77', '0-1', '0-2')).toEqual(['0-1', '2-77', '0-2'])
  expect(objectTypesOf(undefined)).toEqual([])
})

test('what can be no object type is none', () => {
  expect(naming('contacts', '0-1/0-2', '', '../x', '0-1 ', '-1', `0-${'9'.repeat(19)}`, '0-5')).toEqual(['0-5'])
})

test('a report of thousands is not followed to millions of pairs', () => {
  const ids = Array.from({ length: 5_000 }, (_, n) => `2-${n}`)
  expect(naming(...ids)).toHaveLength(100)
  expect(naming(...ids.reverse())).toEqual(naming(...ids.reverse()))
})
