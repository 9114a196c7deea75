import { expect, test } from 'vitest'
import { customProperties } from '../../../src/limits/reports/custom-properties.ts'
import { withExtras } from '../../contract/contract.ts'
import { properties } from '../reports.ts'

/* What any answer comes to in numbers is in test/provider/fuzzed-reports.test.ts; what is said of odd parts in test/jobs/odd-reports.test.ts. */

const WHOLE = properties(960, 1_000, { '0-1': [123, 500], '2-77': [4, 500] })
const [FIRST, SECOND] = WHOLE.byObjectType
const OVERALL = { metric: 'customProperties.overall', usage: 960, limit: 1_000 }
const typeRead = (objectTypeId: string, usage: number, label = `Things of ${objectTypeId}`) => ({
  metric: 'customProperties.objectType',
  objectTypeId,
  label,
  usage,
  limit: 500,
})
const SECOND_READ = typeRead('2-77', 4)

const read = (body: unknown) => customProperties.read(body, { from: '', to: '' })
const many = (count: number, more: object) =>
  Array.from({ length: count }, (_, n) => ({ ...FIRST, objectTypeId: `2-${10_000 + n}`, ...more }))

test('of an account and of its object types, in that order, a value each; and no records', () => {
  expect(read(WHOLE)).toEqual({ values: [OVERALL, typeRead('0-1', 123), SECOND_READ] })
  expect(read(withExtras(WHOLE))).toEqual(read(WHOLE))
})

/** Another first object type. `isPartial`: one that it does not name may still be there. */
test.each<[first: unknown, kept: object | undefined, isPartial: true | undefined]>([
  [{ ...FIRST, usage: 700 }, typeRead('0-1', 700), undefined],
  [{ ...FIRST, pluralLabel: 'שלום 🏢' }, typeRead('0-1', 123, 'שלום 🏢'), undefined],
  [{ ...FIRST, pluralLabel: '' }, typeRead('0-1', 123, ''), undefined],
  [{ ...FIRST, pluralLabel: null }, typeRead('0-1', 123, '0-1'), undefined],
  [{ ...FIRST, pluralLabel: 'x'.repeat(9_000) }, typeRead('0-1', 123, 'x'.repeat(255)), undefined],
  [{ ...FIRST, limit: undefined }, { ...typeRead('0-1', 123), limit: 0 }, undefined],
  [{ ...FIRST, objectTypeId: null }, undefined, true],
  [{ ...FIRST, usage: undefined }, undefined, true],
  ['0-1', undefined, true],
])('an object type %j is kept as %j', (first, kept, isPartial) => {
  const { gaps: _, ...found } = read({ ...WHOLE, byObjectType: [first, SECOND] })
  expect(found).toEqual({ values: [OVERALL, ...(kept === undefined ? [] : [kept]), SECOND_READ], isPartial })
})

test.each([undefined, null, 'none', { '0-1': FIRST }])('object types, %j, are none that are gone', (byObjectType) => {
  expect(read({ ...WHOLE, byObjectType })).toMatchObject({ values: [OVERALL], isPartial: true })
})

test('of all that is wrong the first five parts are named', () => {
  expect(read({ ...WHOLE, byObjectType: many(100, { usage: undefined }) }).gaps).toEqual(
    Array.from({ length: 5 }, (_, n) => expect.stringContaining(`byObjectType[${n}].usage is missing`)),
  )
})
