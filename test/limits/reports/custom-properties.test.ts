import { describe, expect, test } from 'vitest'
import { customProperties } from '../../../src/limits/reports/custom-properties.ts'
import { UnreadableError } from '../../../src/provider/read.ts'
import { withExtras } from '../../contract/contract.ts'
import { properties } from '../reports.ts'

const WHOLE = properties(960, 1_000, { '0-1': [123, 500], '2-77': [4, 500] })
const [FIRST, SECOND] = WHOLE.byObjectType
const OVERALL = { metric: 'customProperties.overall', usage: 960, limit: 1_000, reported: 0 }
const typeRead = (objectTypeId: string, usage: number) => ({
  metric: 'customProperties.objectType',
  objectTypeId,
  label: `Things of ${objectTypeId}`,
  usage,
  limit: 500,
  reported: 0,
})
const [FIRST_READ, SECOND_READ] = [typeRead('0-1', 123), typeRead('2-77', 4)]

const read = (body: unknown) => customProperties.read(body, { from: '', to: '' })
/** The same body, its first object type another one. */
const withFirst = (more: object) => ({ ...WHOLE, byObjectType: [{ ...FIRST, ...more }, SECOND] })

test('of an account and of its object types, in that order, a value each; and no records', () => {
  expect(read(WHOLE)).toEqual({ values: [OVERALL, FIRST_READ, SECOND_READ] })
})

describe('without', () => {
  const { reported: _, ...overallUnsaid } = OVERALL
  const { reported: __, ...firstUnsaid } = FIRST_READ

  test.each([
    ['an overall limit there is none', { ...WHOLE, overallLimit: undefined }, [{ ...OVERALL, limit: 0 }]],
    ['an overall percentage none is told', { ...WHOLE, overallPercentage: undefined }, [overallUnsaid]],
    [
      'a limit of its own an object type has none',
      withFirst({ limit: undefined }),
      [OVERALL, { ...FIRST_READ, limit: 0 }],
    ],
    ['a percentage none is told of it', withFirst({ percentage: undefined }), [OVERALL, firstUnsaid]],
    ['a label its id stands for it', withFirst({ pluralLabel: undefined }), [OVERALL, { ...FIRST_READ, label: '0-1' }]],
  ])('%s, and the gap is named', (_, body, first) => {
    const rest = [OVERALL, FIRST_READ, SECOND_READ].slice(first.length)
    expect(read(body)).toEqual({ values: [...first, ...rest], gaps: [expect.stringMatching(/ is missing: expected /)] })
  })

  test('a singular label nothing is missed', () => {
    expect(read(withFirst({ singularLabel: undefined }))).toEqual({ values: [OVERALL, FIRST_READ, SECOND_READ] })
  })

  test.each([
    ['a list of object types', { ...WHOLE, byObjectType: undefined }, [OVERALL], 'byObjectType is missing'],
    ['the usage of one', withFirst({ usage: undefined }), [OVERALL, SECOND_READ], 'byObjectType[0].usage is missing'],
    [
      'its id',
      withFirst({ objectTypeId: undefined }),
      [OVERALL, SECOND_READ],
      'byObjectType[0].objectTypeId is missing',
    ],
  ])('%s what it names is not all that there may be', (_, body, values, gap) => {
    expect(read(body)).toEqual({ values, isPartial: true, gaps: [expect.stringContaining(`${gap}: expected `)] })
  })

  test.each([undefined, null, '960', -1, 1.5, 2 ** 53])(
    'overall usage, which is %j, it can not be read',
    (overallUsage) => {
      expect(() => read({ ...WHOLE, overallUsage })).toThrow(UnreadableError)
      expect(() => read({ ...WHOLE, overallUsage })).toThrow(/^overallUsage is /)
    },
  )
})

test.each([null, 'text', 7, []])('what is %j and no object can not be read', (body) => {
  expect(() => read(body)).toThrow(UnreadableError)
})

describe('odd', () => {
  test.each([{ '0-1': FIRST }, 'none', 2, null])('object types, %j, are none', (byObjectType) => {
    expect(read({ ...WHOLE, byObjectType })).toMatchObject({
      values: [OVERALL],
      isPartial: true,
      gaps: [expect.stringMatching(/^byObjectType is /)],
    })
  })

  test.each([
    ['that is no object', ['0-1', SECOND], 'byObjectType[0] is a string'],
    ['with an empty id', withFirst({ objectTypeId: '' }).byObjectType, 'byObjectType[0].objectTypeId is empty'],
    ['whose usage is a text', withFirst({ usage: '123' }).byObjectType, 'byObjectType[0].usage is a string'],
    ['whose usage is half a property', withFirst({ usage: 960.5 }).byObjectType, 'usage is the number 960.5'],
    ['whose id is null', withFirst({ objectTypeId: null }).byObjectType, 'byObjectType[0].objectTypeId is null'],
    ['that is null', [null, SECOND], 'byObjectType[0] is null'],
    ['whose usage is below 0', withFirst({ usage: -1 }).byObjectType, 'byObjectType[0].usage is the number -1'],
  ])('an object type %s is left out, and the others stay', (_, byObjectType, gap) => {
    expect(read({ ...WHOLE, byObjectType })).toEqual({
      values: [OVERALL, SECOND_READ],
      isPartial: true,
      gaps: [expect.stringContaining(gap)],
    })
  })

  const KINDS = { null: null, string: 'NaN', 'the number -1': -1, 'the number 960.5': 960.5 }

  test.each([
    ['limit', { limit: 0 }],
    ['percentage', { reported: undefined }],
    ['pluralLabel', { label: '0-1' }],
  ])('a %s of an object type is none, and the rest of it stays', (field, unsaid) => {
    for (const [kind, value] of Object.entries(KINDS)) {
      // A percentage may be any number, and a label is text.
      if (field === 'percentage' && typeof value === 'number') continue
      if (field === 'pluralLabel' && typeof value === 'string') continue
      const found = read(withFirst({ [field]: value }))
      expect(found.values).toEqual([OVERALL, { ...FIRST_READ, ...unsaid }, SECOND_READ])
      const said = expect.stringMatching(new RegExp(`^byObjectType\\[0\\]\\.${field} is (a )?${kind}: expected `))
      expect([field, kind, found.gaps]).toEqual([field, kind, [said]])
    }
  })

  test('a limit of 0 is one, and nothing is missing', () => {
    expect(read(withFirst({ limit: 0 }))).toEqual({ values: [OVERALL, { ...FIRST_READ, limit: 0 }, SECOND_READ] })
    expect(read({ ...WHOLE, overallLimit: 0 }).gaps).toBeUndefined()
  })

  test('fields that nobody knows, at any depth, change nothing', () => {
    expect(read(withExtras(WHOLE))).toEqual(read(WHOLE))
  })

  test('labels, of any script or none, and percentages that are fractions stay as they are', () => {
    const odd = withFirst({ pluralLabel: 'שלום 🏢', percentage: 0.123 })
    expect(read(odd).values[1]).toEqual({ ...FIRST_READ, label: 'שלום 🏢', reported: 0.123 })
    expect(read(withFirst({ pluralLabel: '' })).values[1]).toMatchObject({ label: '' })
    expect(read({ ...WHOLE, overallPercentage: 0.96 }).values[0]).toEqual({ ...OVERALL, reported: 0.96 })
  })

  test('usage beyond the limit is taken as it is', () => {
    expect(read(withFirst({ usage: 700 })).values[1]).toEqual({ ...FIRST_READ, usage: 700 })
  })
})

describe('too much', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ ...FIRST, objectTypeId: `2-${10_000 + n}`, usage: n }))

  test('of object types is counted, and is no part that could not be read', () => {
    const { values, ...rest } = read({ ...WHOLE, byObjectType: many(501) })
    expect(values).toHaveLength(1 + 500)
    expect(rest).toEqual({ leftOut: 1 })
  })

  test('of one label is cut', () => {
    expect(read(withFirst({ pluralLabel: 'x'.repeat(9_000) })).values[1]?.label).toBe('x'.repeat(255))
  })

  test('that is wrong: the first five parts are named', () => {
    const byObjectType = many(100).map(({ usage: _, ...type }) => type)
    expect(read({ ...WHOLE, byObjectType }).gaps).toEqual(
      Array.from({ length: 5 }, (_, n) => expect.stringContaining(`byObjectType[${n}].usage is missing`)),
    )
  })
})
