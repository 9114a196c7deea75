import { describe, expect, test } from 'vitest'
import { disagreeingPercentage, reportedPercents } from '../../src/limits/percentage.ts'
import { associations, fetched, readings } from './reports.ts'

type Number = [usage: number, limit: number, reported: number]

function report([usage, limit, reported]: Number, types: Record<string, Number> = {}) {
  return {
    overallUsage: usage,
    overallLimit: limit,
    overallPercentage: reported,
    byObjectType: Object.entries(types).map(([objectTypeId, [usage, limit, percentage]]) => ({
      objectTypeId,
      singularLabel: 'Thing',
      pluralLabel: 'Things',
      usage,
      limit,
      percentage,
    })),
  }
}

const found = (overall: Number, types?: Record<string, Number>) =>
  disagreeingPercentage(readings(1, report(overall, types)), { reports: new Map() })

describe('a reported percentage', () => {
  test.each<[...Number, says?: string]>([
    [960, 1_000, 96],
    [0, 1_000, 0],
    [1_200, 1_000, 120],
    [1, 3, 33],
    [2, 3, 67],
    [995, 1_000, 99],
    [960, 1_000, 0.96, 'overall: 960 of 1000 is reported as 0.96'],
    [960, 1_000, 95.4, 'overall: 960 of 1000 is reported as 95.4'],
    [960, 1_000, 96.6, 'overall: 960 of 1000 is reported as 96.6'],
    [1_200, 1_000, 100, 'overall: 1200 of 1000 is reported as 100'],
  ])('of %i of %i may be %d, rounded too, unless it is named', (usage, limit, reported, says) => {
    expect(found([usage, limit, reported])).toBe(says)
  })

  test('of an object type counts too, and the first that disagrees is named', () => {
    const types: Record<string, Number> = { '0-1': [1, 10, 10], '0-2': [5, 10, 0.5], '2-77': [7, 10, 0.7] }
    expect(found([1, 10, 10], types)).toBe('type/0-2: 5 of 10 is reported as 0.5')
    expect(found([1, 10, 0.1], types)).toBe('overall: 1 of 10 is reported as 0.1')
    expect(found([1, 10, 10], { '0-1': [1, 10, 10] })).toBeUndefined()
  })

  test('of a limit of 0 is nobody’s business', () => {
    expect(found([0, 0, 100], { '0-1': [5, 0, 7] })).toBeUndefined()
  })
})

describe('the reported percentage of a record near its limit', () => {
  const near = (usage: number, percentage?: number) => {
    const record = { objectId: 12, label: 'x', usage, ...(percentage === undefined ? {} : { percentage }) }
    return associations(500, [], 0, { totalRecordsNearLimit: 1, nearLimitFromRecordSamples: [record] })
  }
  const found = (one: object) =>
    disagreeingPercentage(readings(1, undefined), fetched(1, undefined, { '0-1/0-2': one }))

  test('is compared with its usage and the limit of its pair', () => {
    expect(found(near(482, 96.4))).toBeUndefined()
    expect(found(near(482))).toBeUndefined()
    expect(found(near(482, 0.964))).toBe('a record of 0-1/0-2: 482 of 500 is reported as 0.964')
  })

  test('is nothing where the pair could not be read', () => {
    const failure = { class: 'transient' as const, code: '503', message: 'x', status: 503 }
    expect(found(failure)).toBeUndefined()
  })
})

test('the reported percentages are told by series, where there are any', () => {
  const { overallPercentage: _, ...unread } = report([960, 1_000, 0], { '0-1': [123, 1_000, 12.3] })
  expect([...reportedPercents(readings(1, unread))]).toEqual([['type/0-1', 12.3]])
  expect([...reportedPercents(readings(1, report([960, 1_000, 0.96])))]).toEqual([['overall', 0.96]])
  expect(reportedPercents(readings(1, undefined)).size).toBe(0)
})
