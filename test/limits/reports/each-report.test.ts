import { describe, expect, test } from 'vitest'
import { mergeReadings, type Readings } from '../../../src/limits/readings.ts'
import { METRICS, metricKind, REPORTS, reportNamed } from '../../../src/limits/reports/all-reports.ts'
import type { ReportedValue } from '../../../src/limits/reports/report.ts'
import { parseSeriesId, seriesId, seriesOf } from '../../../src/limits/series.ts'
import { readBody } from '../reports.ts'

const numbers = (usage: number, limit: number) => ({ usage, limit, percentage: (usage * 100) / limit })
const type = (objectTypeId: string, pluralLabel: string) => ({ objectTypeId, singularLabel: 'One', pluralLabel })
const overall = (usage: number, limit: number) => ({
  overallLimit: limit,
  overallUsage: usage,
  overallPercentage: (usage * 100) / limit,
})
const byOrigin = {
  hubspotDefinedObjectTypes: [
    { ...type('0-1', 'Contacts'), ...numbers(5, 10) },
    { ...type('0-3', 'Deals'), ...numbers(3, 4) },
  ],
  customObjectTypes: { ...overall(7, 100), byObjectType: [{ ...type('2-77', 'Projects'), usage: 7 }] },
}

/** An answer of each, as the provider's description has it, and what is read in it. */
const ANSWERS: Record<string, { body: object; series: string[] }> = {
  customProperties: {
    body: { ...overall(9, 10), byObjectType: [{ ...type('0-1', 'Contacts'), ...numbers(1, 4) }] },
    series: ['overall 9/10 ', 'type/0-1 1/4 Contacts'],
  },
  associations: {
    body: {
      limit: 500,
      totalRecordsAtLimit: 1,
      totalRecordsNearLimit: 0,
      atLimitFromRecordSamples: [{ label: 'Acme', objectId: 1 }],
      nearLimitFromRecordSamples: [],
    },
    series: ['at/0-1/0-2 1/0 ', 'near/0-1/0-2 0/0 ', 'fullest/0-1/0-2 500/500 '],
  },
  associationLabels: {
    body: {
      results: [
        {
          fromObjectType: type('0-1', 'Contacts'),
          toObjectType: type('2-77', 'Projects'),
          allLabels: ['a'],
          ...numbers(1, 50),
        },
      ],
    },
    series: ['labels/0-1/2-77 1/50 Contacts → Projects'],
  },
  calculatedProperties: {
    body: { ...overall(8, 25), byObjectType: [{ ...type('0-1', 'Contacts'), usage: 8 }] },
    series: ['calculated 8/25 '],
  },
  customObjectTypes: { body: numbers(2, 10), series: ['custom-types 2/10 '] },
  pipelines: {
    body: byOrigin,
    series: ['pipelines/0-1 5/10 Contacts', 'pipelines/0-3 3/4 Deals', 'custom-pipelines 7/100 '],
  },
  records: { body: byOrigin, series: ['records/0-1 5/10 Contacts', 'records/0-3 3/4 Deals', 'custom-records 7/100 '] },
}

const keyOf = (name: string) => (reportNamed(name)?.perPair === undefined ? name : `${name}/0-1/0-2`)
const line = ({ usage, limit, label = '', ...name }: ReportedValue) => `${seriesId(name)} ${usage}/${limit} ${label}`

describe.each(REPORTS.map((report) => [report.name, report] as const))('the report %s', (name, report) => {
  const { body, series } = ANSWERS[name] ?? { body: {}, series: [] }

  test('is read into values of its own metrics, with nothing that could not be read', () => {
    const read = readBody(keyOf(name), body)
    expect(read.values.map(line)).toEqual(series)
    expect(read.gaps).toBeUndefined()
    expect(read.values.every(({ metric }) => metric.startsWith(`${name}.`) && metric in report.metrics)).toBe(true)
  })

  test('has series whose ids read back', () => {
    const { values } = readBody(keyOf(name), body)
    for (const { id, metric, objectTypeId, from, to } of seriesOf({ [keyOf(name)]: { at: 1, values } })) {
      expect(parseSeriesId(id)).toEqual(JSON.parse(JSON.stringify({ metric, objectTypeId, from, to })))
    }
  })

  test.each([
    ['nothing', {}],
    ['a list', []],
    [
      'text',
      {
        ...body,
        usage: 'x',
        overallUsage: 'x',
        results: 'x',
        hubspotDefinedObjectTypes: 'x',
        totalRecordsAtLimit: 'x',
      },
    ],
  ])('that is %s fails, or names what is wrong', (_, odd) => {
    const read = (() => {
      try {
        return readBody(keyOf(name), odd)
      } catch (error) {
        return String(error)
      }
    })()
    expect(typeof read === 'string' ? [read] : read.gaps).toEqual([expect.stringMatching(/expected/)])
  })
})

test('each metric has a word of its own, which its ids begin with', () => {
  const words = METRICS.map((metric) => metricKind(metric)?.word)
  expect(new Set(words).size).toBe(words.length)
  for (const word of words) expect(word).toMatch(/^[a-z][a-z-]*$/)
})

test('pairs of labels whose ends can’t be told, or would pass for another pair, are left out', () => {
  const odd = (from: object, to: object) => ({
    fromObjectType: from,
    toObjectType: to,
    allLabels: [],
    ...numbers(1, 9),
  })
  const good = type('0-1', 'Contacts')
  const results = [odd(good, { objectTypeId: 'a/b' }), odd({}, good), odd(good, good)]
  const { values, isPartial, gaps } = readBody('associationLabels', { results })
  expect(values).toMatchObject([{ from: '0-1', to: '0-1' }])
  expect(isPartial).toBe(true)
  expect(gaps?.length).toBeGreaterThan(0)
})

test('a pair of labels that can’t be read is no pair that is gone, and however many those are, they have a bound', () => {
  const pair = (to: string) => ({
    fromObjectType: type('0-1', 'Contacts'),
    toObjectType: type(to, 'Projects'),
    allLabels: [],
    ...numbers(1, 9),
  })
  const poll = (before: Readings | undefined, at: number, results: object[]) =>
    mergeReadings(before, { at, reports: new Map([['associationLabels', readBody('associationLabels', { results })]]) })
  const before = poll(undefined, 1, [pair('2-1'), pair('2-2')])
  const after = poll(before, 2, [pair('2-1'), { ...pair('2-2'), usage: 'x' }])
  expect(seriesOf(after).map(({ id }) => id)).toEqual(['labels/0-1/2-1', 'labels/0-1/2-2'])
  const many = (from: number) => [...Array.from({ length: 400 }, (_, n) => pair(`2-${from + n}`)), {}]
  const grown = [1_000, 2_000, 3_000].reduce((kept, from) => poll(kept, from, many(from)), after)
  expect(seriesOf(grown).length).toBeLessThanOrEqual(501)
})

test('custom objects are left out where the account has none', () => {
  const { customObjectTypes: _, ...without } = byOrigin
  expect(readBody('records', without)).toMatchObject({ values: [{ objectTypeId: '0-1' }, { objectTypeId: '0-3' }] })
})
