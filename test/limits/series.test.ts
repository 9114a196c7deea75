import { describe, expect, test } from 'vitest'
import { parseSeriesId, type Series, seriesOf } from '../../src/limits/series.ts'
import { associations, properties, readings } from './reports.ts'

const of = (id: string, series: readonly Series[]) => series.find((one) => one.id === id)

describe('the series of custom properties', () => {
  test('are one for all and one per object type, with percent computed from usage and limit', () => {
    expect(seriesOf(readings(1, properties(960, 1_000, { '0-1': [123, 1_000], '2-77': [7, 8] })))).toEqual([
      { id: 'overall', metric: 'customProperties.overall', usage: 960, limit: 1_000, percent: 96 },
      {
        id: 'type/0-1',
        metric: 'customProperties.objectType',
        objectTypeId: '0-1',
        label: 'Things of 0-1',
        usage: 123,
        limit: 1_000,
        percent: 12.3,
      },
      {
        id: 'type/2-77',
        metric: 'customProperties.objectType',
        objectTypeId: '2-77',
        label: 'Things of 2-77',
        usage: 7,
        limit: 8,
        percent: 87.5,
      },
    ])
  })

  test('ignore the percentage that is reported', () => {
    const report = { ...properties(12, 100), overallPercentage: 0.12 }
    expect(of('overall', seriesOf(readings(1, report)))?.percent).toBe(12)
  })

  test('show usage above the limit as it is', () => {
    expect(of('overall', seriesOf(readings(1, properties(1_200, 1_000))))).toMatchObject({ usage: 1_200, percent: 120 })
  })

  test.each([0, 5])('without a limit, at a usage of %i, are unknown, which is not 0 %', (usage) => {
    expect(of('overall', seriesOf(readings(1, properties(usage, 0))))).toMatchObject({
      usage,
      limit: null,
      percent: null,
    })
    const types = seriesOf(readings(1, properties(1, 10, { '0-1': [usage, 0] })))
    expect(of('type/0-1', types)).toMatchObject({ usage, limit: null, percent: null })
  })

  test('are none before there is a report', () => {
    expect(seriesOf(readings(1, undefined))).toEqual([])
  })

  test('have an id of their own each, also when a type is reported twice', () => {
    const twice = properties(1, 10, { '0-1': [1, 10] })
    const report = { ...twice, byObjectType: [...twice.byObjectType, ...twice.byObjectType] }
    const ids = seriesOf(readings(1, report)).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('the series of associations', () => {
  const fullest = (report: object) => of('fullest/0-1/0-2', seriesOf(readings(1, undefined, { '0-1/0-2': report })))

  test('are three per pair: how many at the limit, how many near it, how full the fullest is', () => {
    const pair = { from: '0-1', to: '0-2', label: 'Contacts → Companies' }
    expect(seriesOf(readings(1, undefined, { '0-1/0-2': associations(500, [400, 482], 0) }))).toEqual([
      { id: 'at/0-1/0-2', metric: 'associations.atLimit', ...pair, usage: 0, limit: null, percent: null },
      { id: 'near/0-1/0-2', metric: 'associations.nearLimit', ...pair, usage: 2, limit: null, percent: null },
      { id: 'fullest/0-1/0-2', metric: 'associations.fullest', ...pair, usage: 482, limit: 500, percent: 96.4 },
    ])
  })

  test('of the two directions of a pair are different ones', () => {
    const both = readings(1, undefined, { '0-1/0-2': associations(500), '0-2/0-1': associations(50, [49]) })
    expect(new Set(seriesOf(both).map(({ id }) => id)).size).toBe(6)
  })

  test('count the records that there are, not the samples that are shown', () => {
    const report = associations(500, [490], 1, { totalRecordsAtLimit: 212, totalRecordsNearLimit: 1_044 })
    const series = seriesOf(readings(1, undefined, { '0-1/0-2': report }))
    expect([of('at/0-1/0-2', series)?.usage, of('near/0-1/0-2', series)?.usage]).toEqual([212, 1_044])
  })

  test('a record at its limit comes without a number and is 100 %', () => {
    expect(fullest(associations(500, [450], 1))).toMatchObject({ usage: 500, percent: 100 })
    expect(fullest(associations(500, [], 0, { totalRecordsAtLimit: 3 }))).toMatchObject({ percent: 100 })
  })

  test('a record above its limit is more than 100 %', () => {
    expect(fullest(associations(500, [550], 1))).toMatchObject({ usage: 550, percent: 110 })
  })

  test('records near the limit of which none is shown are at least at 80 %', () => {
    expect(fullest(associations(500, [], 0, { totalRecordsNearLimit: 7 }))).toMatchObject({ percent: 80 })
  })

  test('never claim a record with a fraction of an association', () => {
    expect(fullest(associations(7, [], 0, { totalRecordsNearLimit: 1 }))?.usage).toSatisfy(Number.isInteger)
  })

  test('without any record near the limit are 0: below 80 % nothing is shown', () => {
    expect(fullest(associations(500))).toMatchObject({ usage: 0, limit: 500, percent: 0 })
  })

  test('with a limit of 0 are unknown', () => {
    expect(fullest(associations(0, [3], 2))).toMatchObject({ limit: null, percent: null })
  })
})

describe('the id of a series', () => {
  test('gives its name back', () => {
    const all = seriesOf(
      readings(1, properties(1, 2, { '0-1': [1, 2], '2-123': [1, 2] }), {
        '0-1/0-2': associations(5),
        'p_x/2-1': associations(5),
      }),
    )
    for (const { id, metric, objectTypeId, from, to } of all) {
      const name = { metric, objectTypeId, from, to }
      expect(parseSeriesId(id)).toEqual(JSON.parse(JSON.stringify(name)))
    }
  })

  test.each(['token', '', 'nonsense/1/2'])('that %j is none', (id) => {
    expect(parseSeriesId(id)).toBeUndefined()
  })
})

test.each(['type/%zz', 'type/%', 'type/%c3', 'records/%ff'])('%s, which nobody encoded, is no series', (id) => {
  expect(parseSeriesId(id)).toBeUndefined()
})
