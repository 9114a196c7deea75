import { describe, expect, test } from 'vitest'
import { associations as report } from '../../../src/limits/reports/associations.ts'
import { UnreadableError } from '../../../src/provider/read.ts'
import { withExtras } from '../../contract/contract.ts'
import { associations } from '../reports.ts'

const PAIR = { from: '0-1', to: '2-77' }
const read = (body: unknown) => report.read(body, PAIR)

/** Of a limit of 500: one record is full, two are near it. */
const WHOLE = associations(500, [480, 410], 1)
const RECORDS = {
  atLimit: [{ label: 'full 0', objectId: 100 }],
  nearLimit: [
    { label: 'near 0', objectId: 200, usage: 480 },
    { label: 'near 1', objectId: 201, usage: 410 },
  ],
}
const valuesOf = (atLimit: number, nearLimit: number, fullest: number, limit = 500) => [
  { metric: 'associations.atLimit', ...PAIR, usage: atLimit, limit: 0 },
  { metric: 'associations.nearLimit', ...PAIR, usage: nearLimit, limit: 0 },
  { metric: 'associations.fullest', ...PAIR, usage: fullest, limit },
]
const fullestOf = (body: object) => read(body).values.at(-1)?.usage

test('of a pair: how many records are at their limit, how many near it, how full the fullest is; and samples of them', () => {
  expect(read(WHOLE)).toEqual({ values: valuesOf(1, 2, 500), records: RECORDS })
})

test('of a pair in which nothing is at its limit there are the same values, all 0, and no records', () => {
  expect(report.perPair?.none(PAIR, 500)).toEqual({ values: valuesOf(0, 0, 0) })
  expect(read(associations(500)).values).toEqual(report.perPair?.none(PAIR, 500).values)
})

test('object types in its path are escaped', () => {
  expect(report.path({ from: 'p/1 x', to: '2-7?#' })).toBe('/associations/records/p%2F1%20x/2-7%3F%23')
})

describe('the fullest record', () => {
  test('that is at its limit counts as full, without a number of its own', () => {
    expect(fullestOf(associations(500, [], 1))).toBe(500)
    expect(fullestOf(associations(500, [], 0, { totalRecordsAtLimit: 7 }))).toBe(500)
  })

  test('that is beyond its limit is as full as it is', () => {
    expect(fullestOf(associations(500, [480, 701], 1))).toBe(701)
  })

  test('near its limit is the fullest of those shown', () => {
    expect(fullestOf(associations(500, [410, 480]))).toBe(480)
  })

  test('that is counted and not shown is at the share from which they are', () => {
    expect(fullestOf(associations(499, [], 0, { totalRecordsNearLimit: 3 }))).toBe(400)
  })
})

describe('a total', () => {
  test('that is larger than what is shown is right: those are samples', () => {
    const body = { ...WHOLE, totalRecordsAtLimit: 212, totalRecordsNearLimit: 9_000 }
    expect(read(body)).toEqual({ values: valuesOf(212, 9_000, 500), records: RECORDS })
  })

  test('that is less is wrong: the records are there, each of them once', () => {
    const totals = { totalRecordsAtLimit: 0, totalRecordsNearLimit: 0 }
    expect(read({ ...WHOLE, ...totals }).values).toEqual(valuesOf(1, 2, 500))
    const atLimitFromRecordSamples = [WHOLE.atLimitFromRecordSamples, WHOLE.atLimitFromRecordSamples].flat()
    expect(read({ ...WHOLE, ...totals, atLimitFromRecordSamples }).values).toEqual(valuesOf(1, 2, 500))
  })

  test.each(['totalRecordsAtLimit', 'totalRecordsNearLimit'])(
    'must be there: without %s it can not be read',
    (name) => {
      for (const total of [undefined, null, '1', -1, 0.5]) {
        expect(() => read({ ...WHOLE, [name]: total })).toThrow(UnreadableError)
        expect(() => read({ ...WHOLE, [name]: total })).toThrow(`${name} is `)
      }
    },
  )
})

test('fields that nobody knows, at any depth, change nothing', () => {
  expect(read(withExtras(WHOLE))).toEqual(read(WHOLE))
})

test('labels of any script, or that look like markup, and percentages that are fractions stay as they are', () => {
  const labels = ['', '\u202eשלום 🏢 東京', '<script>alert(1)</script>\r\n']
  const samples = labels.map((label, objectId) => ({ label, objectId }))
  expect(read({ ...WHOLE, atLimitFromRecordSamples: samples }).records?.atLimit).toEqual(samples)
  const near = { label: 'Globex', objectId: 12, percentage: 140.2, usage: 701 }
  expect(read({ ...WHOLE, nearLimitFromRecordSamples: [near] }).records?.nearLimit).toEqual([
    { label: 'Globex', objectId: 12, usage: 701 },
  ])
})

test.each([null, 'text', 7, []])('what is %j and no object can not be read', (body) => {
  expect(() => read(body)).toThrow(UnreadableError)
})

describe('what is missing or odd beside the totals is named, and the rest stays:', () => {
  const withFull = (more: object) => ({ ...WHOLE, atLimitFromRecordSamples: [{ label: 'A', objectId: 100, ...more }] })
  const withNear = (more: object) => ({
    ...WHOLE,
    nearLimitFromRecordSamples: [{ label: 'B', objectId: 200, usage: 480, percentage: 96, ...more }],
  })
  const full = (atLimit: object[]) => ({ atLimit, nearLimit: RECORDS.nearLimit })
  const near = (nearLimit: object[]) => ({ atLimit: RECORDS.atLimit, nearLimit })

  test.each<[what: string, body: object, records: object, gap: string]>([
    ['a limit', { ...WHOLE, limit: undefined }, RECORDS, 'limit is missing'],
    [
      'samples of full records',
      { ...WHOLE, atLimitFromRecordSamples: 'none' },
      full([]),
      'atLimitFromRecordSamples is a string',
    ],
    [
      'samples of those near',
      { ...WHOLE, nearLimitFromRecordSamples: undefined },
      near([]),
      'nearLimitFromRecordSamples is missing',
    ],
    ['a record', { ...WHOLE, atLimitFromRecordSamples: [null] }, full([]), 'atLimitFromRecordSamples[0] is null'],
    ['its id', withFull({ objectId: undefined }), full([]), 'atLimitFromRecordSamples[0].objectId is missing'],
    [
      'an id of 0 before it',
      withFull({ objectId: '007' }),
      full([]),
      'atLimitFromRecordSamples[0].objectId is a string',
    ],
    ...[
      [undefined, 'missing'],
      [null, 'null'],
      [5, 'the number 5'],
    ].map(([label, is]): [string, object, object, string] => [
      ...([`a label, ${is},`, withFull({ label }), full([{ objectId: 100 }]), `[0].label is ${is}`] as const),
    ]),
    ['an id below 0', withFull({ objectId: -4 }), full([]), 'atLimitFromRecordSamples[0].objectId is the number -4'],
    ['an id of null', withFull({ objectId: null }), full([]), 'atLimitFromRecordSamples[0].objectId is null'],
    ['the usage of one near, null,', withNear({ usage: null }), near([]), '[0].usage is null'],
    [
      'the usage of one near',
      withNear({ usage: undefined }),
      near([]),
      'nearLimitFromRecordSamples[0].usage is missing',
    ],
    [
      ...(['its percentage', withNear({ percentage: '96' })] as const),
      near([{ label: 'B', objectId: 200, usage: 480 }]),
      'nearLimitFromRecordSamples[0].percentage is a string',
    ],
  ])('%s', (_, body, records, gap) => {
    const found = read(body)
    expect(found.records).toEqual(records)
    expect(found.values.slice(0, 2)).toEqual(valuesOf(1, 2, 0).slice(0, 2))
    expect(found.gaps).toEqual([expect.stringContaining(`${gap}: expected `)])
  })

  test('without a limit there is none to be full by, and what is near tells how full the fullest is', () => {
    expect(read({ ...WHOLE, limit: undefined }).values.at(-1)).toEqual(valuesOf(1, 2, 480, 0).at(-1))
  })
})

describe('too much', () => {
  const some = (count: number) => Array.from({ length: count }, (_, n) => 400 + (n % 100))

  test('of records: the fullest hundred are kept, and all are counted', () => {
    const { values, records } = read(associations(500, some(300), 150))
    expect(values).toEqual(valuesOf(150, 300, 500))
    expect([records?.atLimit.length, records?.nearLimit.length]).toEqual([100, 100])
    expect(Math.min(...(records?.nearLimit ?? []).map(({ usage = 0 }) => usage))).toBe(466)
  })

  test('of one label is cut', () => {
    const label = 'x'.repeat(9_000)
    expect(read({ ...WHOLE, atLimitFromRecordSamples: [{ label, objectId: 100 }] }).records?.atLimit).toEqual([
      { label: 'x'.repeat(255), objectId: 100 },
    ])
  })

  test('of digits for a number leaves an id the text that it was', () => {
    const objectId = '9007199254740993'
    expect(read({ ...WHOLE, atLimitFromRecordSamples: [{ label: 'A', objectId }] }).records?.atLimit).toEqual([
      { label: 'A', objectId },
    ])
  })
})
