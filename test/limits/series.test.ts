import { expect, test } from 'vitest'
import { parseSeriesId, seriesOf } from '../../src/limits/series.ts'
import { associations, properties, readings } from './reports.ts'

/* Numbers and percentages of any answer: test/provider/fuzzed-reports.test.ts. Ids of each report: reports/each-report.test.ts. */

test('an object type has the label of its report, a pair those of its types, and each direction is another series', () => {
  const pairs = { '0-1/0-2': associations(500, [482]), '0-2/0-1': associations(50), '0-1/2-77': associations(5) }
  const all = seriesOf(readings(1, properties(960, 1_000, { '2-77': [7, 8] }), pairs))
  expect(all.map(({ id, label }) => [id, label])).toEqual([
    ['overall', undefined],
    ['type/2-77', 'Things of 2-77'],
    ...['at', 'near', 'fullest'].map((word) => [`${word}/0-1/0-2`, 'Contacts → Companies']),
    ...['at', 'near', 'fullest'].map((word) => [`${word}/0-2/0-1`, 'Companies → Contacts']),
    ...['at', 'near', 'fullest'].map((word) => [`${word}/0-1/2-77`, 'Contacts → Things of 2-77']),
  ])
  expect(all.find(({ id }) => id === 'fullest/0-1/0-2')).toMatchObject({ usage: 482, limit: 500, percent: 96.4 })
})

test('there is none before there is a report', () => {
  expect(seriesOf(readings(1, undefined))).toEqual([])
})

test.each(['token', '', 'nonsense/1/2', 'type/%zz', 'type/%', 'type/%c3', 'records/%ff'])('%j is no series', (id) => {
  expect(parseSeriesId(id)).toBeUndefined()
})
