import { expect, test } from 'vitest'
import { associations as report } from '../../../src/limits/reports/associations.ts'
import { withExtras } from '../../contract/contract.ts'
import { associations } from '../reports.ts'

/* What any answer comes to in numbers is in test/provider/fuzzed-reports.test.ts; what is said of odd parts in test/jobs/odd-reports.test.ts. */

const PAIR = { from: '0-1', to: '2-77' }
const read = (body: unknown) => report.read(body, PAIR)

/** Of a limit of 500: one record is full, two are near it. */
const WHOLE = associations(500, [480, 410], 1)
const FULL = [{ label: 'full 0', objectId: 100 }]
const NEAR = [
  { label: 'near 0', objectId: 200, usage: 480 },
  { label: 'near 1', objectId: 201, usage: 410 },
]

test('of a pair: how many records are at their limit, how many near it, how full the fullest is; and samples of them', () => {
  const values = [
    { metric: 'associations.atLimit', ...PAIR, usage: 1, limit: 0 },
    { metric: 'associations.nearLimit', ...PAIR, usage: 2, limit: 0 },
    { metric: 'associations.fullest', ...PAIR, usage: 500, limit: 500 },
  ]
  expect(read(WHOLE)).toEqual({ values, records: { atLimit: FULL, nearLimit: NEAR } })
  expect(read(withExtras(WHOLE))).toEqual(read(WHOLE))
  expect(report.perPair?.none(PAIR, 500).values).toEqual(values.map((value) => ({ ...value, usage: 0 })))
})

test('object types in its path are escaped', () => {
  expect(report.path({ from: 'p/1 x', to: '2-7?#' })).toBe('/associations/records/p%2F1%20x/2-7%3F%23')
})

/** One record in the place of the one at its limit, or of those near it; undefined: none is kept. */
test.each<[list: 'atLimit' | 'nearLimit', record: unknown, kept: object | undefined]>([
  ['atLimit', { label: '\u202eשלום 🏢 東京', objectId: 1 }, { label: '\u202eשלום 🏢 東京', objectId: 1 }],
  [
    'atLimit',
    { label: '<script>alert(1)</script>\r\n', objectId: 1 },
    { label: '<script>alert(1)</script>\r\n', objectId: 1 },
  ],
  ['atLimit', { label: 'x'.repeat(9_000), objectId: 1 }, { label: 'x'.repeat(255), objectId: 1 }],
  ['atLimit', { label: 'A', objectId: '9007199254740993' }, { label: 'A', objectId: '9007199254740993' }],
  ['atLimit', { label: null, objectId: 1 }, { objectId: 1 }],
  ['atLimit', { label: 'A', objectId: null }, undefined],
  ['nearLimit', { label: 'B', objectId: 1, usage: 701, percentage: 140.2 }, { label: 'B', objectId: 1, usage: 701 }],
  ['nearLimit', { label: 'B', objectId: 1, usage: null }, undefined],
])('a record %s, %j, is kept as %j', (list, record, kept) => {
  const found = read({ ...WHOLE, [`${list}FromRecordSamples`]: [record] }).records
  expect(found).toEqual({ atLimit: FULL, nearLimit: NEAR, [list]: kept === undefined ? [] : [kept] })
})
