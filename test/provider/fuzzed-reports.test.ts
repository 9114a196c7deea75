import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mergeReadings, reportOfKey } from '../../src/limits/readings.ts'
import type { ReadReport } from '../../src/limits/reports/report.ts'
import { seriesOf } from '../../src/limits/series.ts'
import { StoredReadings } from '../../src/limits/stored-readings.ts'
import { parseJson, UnreadableError } from '../../src/provider/read.ts'
import { ASSOCIATIONS, CUSTOM_PROPERTIES } from './connect-client.ts'

/*
 * Whatever the provider sends: a reading whose percentages are right, or a failure that names the field. What is right
 * is worked out here once more, from the answer's text and the interface (2.3, 2.4) alone.
 */

type Json = Record<string, unknown>
type Kind = 'customProperties' | 'associations'

const GOOD: Record<Kind, Json> = {
  customProperties: {
    ...CUSTOM_PROPERTIES,
    byObjectType: [
      ...CUSTOM_PROPERTIES.byObjectType,
      { ...CUSTOM_PROPERTIES.byObjectType[0], objectTypeId: '0-2', usage: 1_200 },
      { ...CUSTOM_PROPERTIES.byObjectType[0], objectTypeId: '2-77', usage: 0, limit: 10 },
      { ...CUSTOM_PROPERTIES.byObjectType[0], objectTypeId: '2-78', usage: 5, limit: 0 },
    ],
  },
  associations: ASSOCIATIONS,
}

/** Series by id: usage, limit, percent. */
type Numbers = Record<string, [usage: number, limit: number | null, percent: number | null]>

const KEYS: Record<Kind, string> = { customProperties: 'customProperties', associations: 'associations/0-1/0-2' }

/** What comes of an answer: its series, or why there are none. */
function readingOf(kind: Kind, text: string): Numbers | string {
  const { report, pair } = reportOfKey(KEYS[kind]) as NonNullable<ReturnType<typeof reportOfKey>>
  let read: ReadReport
  try {
    read = report.read(parseJson(Buffer.from(text)), pair)
  } catch (error) {
    if (error instanceof UnreadableError) return error.message
    throw error
  }
  return numbersOf(kind, read)
}

function numbersOf(kind: Kind, report: ReadReport): Numbers {
  const readings = mergeReadings(undefined, { at: 1, reports: new Map([[KEYS[kind], report]]) })
  const series = seriesOf(readings)
  expect(seriesOf(StoredReadings.read(StoredReadings.of(readings, 1).text, 1).all ?? {})).toEqual(series)
  return Object.fromEntries(series.map(({ id, usage, limit, percent }) => [id, [usage, limit, percent]]))
}

/** The paths of what an answer must have and doesn't: only its totals, whatever else is wrong with it. */
function faultsOf(kind: Kind, answer: unknown): string[] {
  if (!isObject(answer)) return ['the answer']
  return TOTALS[kind].filter((name) => !isCount(own(answer, name)))
}

const own = (from: Json, name: string) => (Object.hasOwn(from, name) ? from[name] : undefined)
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const isCount = (value: unknown) => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
const isRecordId = (value: unknown) => isCount(value) || (typeof value === 'string' && /^[1-9]\d{0,19}$/.test(value))
const countOr0 = (value: unknown) => (isCount(value) ? (value as number) : 0)
const itemsOf = (list: unknown): Json[] => (Array.isArray(list) ? list.filter(isObject) : [])

const TOTALS: Record<Kind, string[]> = {
  customProperties: ['overallUsage'],
  associations: ['totalRecordsAtLimit', 'totalRecordsNearLimit'],
}

/** What an answer means that has its totals: what is wrong beside them is not there. */
function meaningOf(kind: Kind, answer: Json): Numbers {
  return kind === 'customProperties' ? meaningOfProperties(answer) : meaningOfAssociations(answer)
}

function meaningOfProperties(answer: Json): Numbers {
  const numbers: Numbers = { overall: share(answer.overallUsage, countOr0(own(answer, 'overallLimit'))) }
  for (const item of itemsOf(own(answer, 'byObjectType'))) {
    const [objectTypeId, usage] = [own(item, 'objectTypeId'), own(item, 'usage')]
    if (typeof objectTypeId !== 'string' || objectTypeId === '' || !isCount(usage)) continue
    const limit = countOr0(own(item, 'limit'))
    const id = `type/${encodeURIComponent(String(objectTypeId).toWellFormed())}`
    numbers[id] ??= share(usage, limit) // Named twice, the first one counts.
  }
  return numbers
}

function meaningOfAssociations(answer: Json): Numbers {
  const limit = countOr0(own(answer, 'limit'))
  const recordsOf = (list: string) => itemsOf(own(answer, list)).filter((item) => isRecordId(own(item, 'objectId')))
  const nearRecords = recordsOf('nearLimitFromRecordSamples').filter((item) => isCount(own(item, 'usage')))
  const at = counted(answer.totalRecordsAtLimit, recordsOf('atLimitFromRecordSamples'))
  const near = counted(answer.totalRecordsNearLimit, nearRecords)
  const shown = nearRecords.map(({ usage }) => Number(usage))
  const unseen = at > 0 ? [limit] : near > 0 && shown.length === 0 ? [Math.ceil((limit * 80) / 100)] : [0]
  const fullest = [...shown, ...unseen].reduce((most, usage) => (usage > most ? usage : most), 0)
  return {
    'at/0-1/0-2': [at, null, null],
    'near/0-1/0-2': [near, null, null],
    'fullest/0-1/0-2': share(fullest, limit),
  }
}

/** Records that are shown are there, whatever the total says. */
function counted(total: unknown, samples: Json[]): number {
  return Math.max(Number(total), new Set(samples.map(({ objectId }) => objectId)).size)
}

function share(usage: unknown, limit: unknown): Numbers[string] {
  const [used, most] = [Number(usage) + 0, Number(limit)] // A -0 is no other number.
  return most > 0 ? [used, most, (used * 100) / most] : [used, null, null]
}

/** Judges one answer; returns which of the two it was. */
function hold(kind: Kind, text: string): 'read' | 'refused' {
  const answer: unknown = JSON.parse(text)
  const faults = faultsOf(kind, answer)
  const reading = readingOf(kind, text)
  if (faults.length > 0) {
    expect(faults.map((path) => `${path} is`)).toContain(String(reading).match(/^(the answer|\S+) is/)?.[0])
    return 'refused'
  }
  expect(reading).toEqual(meaningOf(kind, answer as Json))
  for (const numbers of Object.values(reading)) {
    for (const number of numbers)
      expect(number === null || (Number.isFinite(number) && !Object.is(number, -0))).toBe(true)
  }
  return 'read'
}

// What JSON.stringify can't write stands in for itself until the text is made.
const WRITTEN: [word: string, text: string][] = [
  ['"@minus-zero"', '-0'],
  ['"@beyond"', '1e400'],
  ['"@2^53+1"', '9007199254740993'],
  ['"@deep"', `${'['.repeat(50_000)}${']'.repeat(50_000)}`],
  ['"@proto"', '"__proto__"'],
]

const textOf = (answer: unknown) =>
  WRITTEN.reduce((text, [word, written]) => text.replaceAll(word, written), JSON.stringify(answer))

const HOSTILE: unknown[] = [
  '12',
  '1e3',
  'NaN',
  '-Infinity',
  '',
  ' ',
  '0x10',
  '<b>',
  '\ud800',
  'a\udc00b',
  'x'.repeat(20_000),
  null,
  true,
  false,
  -1,
  0,
  0.12,
  1.5,
  99.999,
  1e308,
  -1e308,
  5e-324,
  2 ** 53,
  2 ** 53 - 1,
  2 ** 31,
  '@2^53+1',
  '@minus-zero',
  '@beyond',
  '@deep',
  [],
  {},
  [[]],
  [null],
  { '@proto': { limit: 1 } },
  { length: 3 },
  Array.from({ length: 2_000 }, (_, n) => n),
  { usage: 1, limit: 1 },
]

const COUNTS = [0, '@minus-zero', 1, 3, 7, 999, 1_000, 1_001, 123_456_789, 2 ** 53 - 1]

/** Where in an answer something can be done: each value by the way to it. */
function waysIn(value: unknown, way: (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [way]
  return [way, ...Object.entries(value).flatMap(([name, part]) => waysIn(part, [...way, name]))]
}

type Change = { where: number; what: string; hostile: number }

const change = fc.record({
  where: fc.nat(),
  what: fc.constantFrom(
    'replace',
    'replace',
    'count',
    'count',
    'count',
    'delete',
    'repeat',
    'nest',
    'list',
    'mistype',
    'poison',
  ),
  hostile: fc.nat({ max: HOSTILE.length - 1 }),
})

function changed(answer: unknown, { where, what, hostile }: Change): unknown {
  const ways = waysIn(answer)
  const way = ways[where % ways.length] ?? []
  const last = way.at(-1)
  if (last === undefined) return what === 'replace' ? HOSTILE[hostile] : what === 'list' ? [answer] : answer
  const holder = way.slice(0, -1).reduce<unknown>((at, step) => (at as Json)[step], answer) as Json
  const value = holder[last]
  if (what === 'replace') holder[last] = HOSTILE[hostile]
  else if (what === 'count') holder[last] = typeof value === 'number' ? COUNTS[hostile % COUNTS.length] : value
  else if (what === 'nest') holder[last] = { value }
  else if (what === 'list') holder[last] = [value]
  else if (what === 'mistype') holder[last] = typeof value === 'string' ? value.length : JSON.stringify(value)
  else if (what === 'poison') Object.assign(holder, { '@proto': value, constructor: value, toString: HOSTILE[hostile] })
  else if (what === 'repeat' && Array.isArray(holder)) holder.splice(Number(last), 0, structuredClone(value))
  else if (what === 'repeat') holder[`${last}2`] = value
  else if (Array.isArray(holder)) holder.splice(Number(last), 1)
  else delete holder[last]
  return answer
}

const fuzzed = (kind: Kind) =>
  fc
    .array(change, { minLength: 1, maxLength: 3 })
    .map((changes) => textOf(changes.reduce<unknown>(changed, structuredClone(GOOD[kind]))))

const type = (more: Json): Json => ({ ...GOOD.customProperties, byObjectType: [{ ...firstType(), ...more }] })
const firstType = () => structuredClone(CUSTOM_PROPERTIES.byObjectType[0]) as Json
const near = (usages: number[], more: Json = {}): Json => ({
  ...ASSOCIATIONS,
  nearLimitFromRecordSamples: usages.map((usage, n) => ({ label: '', objectId: n, percentage: 0.9, usage })),
  ...more,
})

/** Each with what must come of it: one series' percentage, or the field that is named. */
const NAMED: [name: string, kind: Kind, answer: unknown, comes: [id: string, percent: number | null] | string][] = [
  ['a percentage that is plainly wrong', 'customProperties', type({ percentage: -5e9 }), ['type/0-1', 12.3]],
  ['hardly any usage', 'customProperties', type({ usage: 94, limit: 15_000_000 }), ['type/0-1', 9_400 / 15_000_000]],
  ['a limit of -0', 'customProperties', type({ limit: '@minus-zero' }), ['type/0-1', null]],
  ['usage of -0', 'customProperties', type({ usage: '@minus-zero' }), ['type/0-1', 0]],
  [
    'the largest numbers',
    'customProperties',
    type({ usage: 2 ** 53 - 1, limit: 1 }),
    ['type/0-1', (2 ** 53 - 1) * 100],
  ],
  ['numbers beyond what can be told apart', 'customProperties', type({ usage: '@2^53+1' }), ['overall', 96]],
  ['a number too large to be one', 'customProperties', type({ limit: '@beyond' }), ['type/0-1', null]],
  ['an object type without a name', 'customProperties', type({ objectTypeId: '' }), ['overall', 96]],
  ['half a surrogate pair for a name', 'customProperties', type({ objectTypeId: '\ud83d' }), ['type/%EF%BF%BD', 12.3]],
  [
    'fields that nobody knows, nested deep',
    'customProperties',
    { ...type({}), x: '@deep', y: '\ud800' },
    ['overall', 96],
  ],
  ['limits in a prototype', 'customProperties', { '@proto': GOOD.customProperties }, 'overallUsage'],
  ['fewer at the limit than are shown', 'associations', near([], { totalRecordsAtLimit: 0 }), ['fullest/0-1/0-2', 100]],
  [
    'more samples than anybody reads',
    'associations',
    near(Array.from({ length: 30_000 }, () => 450)),
    ['fullest/0-1/0-2', 100],
  ],
]

describe('a report', () => {
  test.each(NAMED)('with %s', (_, kind, answer, comes) => {
    const text = textOf(answer)
    hold(kind, text)
    const reading = readingOf(kind, text)
    if (typeof comes === 'string') expect(String(reading).split(' is ')[0]).toBe(comes)
    else expect((reading as Numbers)[comes[0]]?.[2]).toBe(comes[1])
  })

  test.each([
    ['with NaN where a number should be', '{"overallLimit":NaN}'],
    ['nested deeper than any stack, and never closed', '{"a":'.repeat(300_000)],
  ])('%s can not be read', (_, text) => {
    expect(readingOf('customProperties', text)).toMatch(/not valid JSON/)
  })

  test.each<Kind>(['customProperties', 'associations'])(
    'of %s with anything done to any part of it is read right, or refused by the name of a total',
    (kind) => {
      const came = { read: 0, refused: 0 }
      fc.assert(
        fc.property(fuzzed(kind), (text) => {
          came[hold(kind, text)]++
        }),
        { seed: 20_261_121, numRuns: 300 },
      )
      // Else it would have been tried on one half only.
      expect(came.read).toBeGreaterThan(50)
      expect(came.refused).toBeGreaterThan(5)
    },
  )
})
