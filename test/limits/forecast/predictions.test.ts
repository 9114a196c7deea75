import { describe, expect, test } from 'vitest'
import { decodeForecasts } from '../../../src/limits/forecast/forecast-account.ts'
import {
  decodePredictions,
  encodePredictions,
  followPredictions,
  judge,
  type Prediction,
} from '../../../src/limits/forecast/predictions.ts'
import { properties, readings } from '../reports.ts'

const DAY = 86_400_000
const MADE = 20_400 * DAY
const daysOn = (days: number) => MADE + days * DAY
const said: Prediction = { at: MADE, limit: 1_000, earliest: 9, latest: 20 }

describe('a prediction of 9 to 20 days', () => {
  test.each([
    [8.9, 'sooner'],
    [9, 'held'],
    [20, 'held'],
    [20.1, 'later'],
  ] as const)('whose limit is reached after %d days is judged: %s', (days, is) => {
    expect(judge(said, { limit: 1_000, reachedAt: daysOn(days), readAt: daysOn(days) })).toBe(is)
  })

  test('waits until its range is over, by what was read and not by the clock', () => {
    expect(judge(said, { limit: 1_000, reachedAt: undefined, readAt: daysOn(20) })).toBe('pending')
    expect(judge(said, { limit: 1_000, reachedAt: undefined, readAt: daysOn(20.1) })).toBe('later')
  })

  test('is void where the limit was moved before, and judged where it had been reached', () => {
    expect(judge(said, { limit: 2_000, reachedAt: undefined, readAt: daysOn(5) })).toBe('void')
    expect(judge(said, { limit: 2_000, reachedAt: daysOn(12), readAt: daysOn(13) })).toBe('held')
  })
})

test.each([
  [{ reachedAt: daysOn(8), readAt: daysOn(8) }, 'sooner'],
  [{ reachedAt: daysOn(12), readAt: daysOn(12) }, 'held'],
  [{ reachedAt: undefined, readAt: daysOn(30) }, 'pending'],
  [{ reachedAt: undefined, readAt: daysOn(31) }, 'open'],
] as const)('of 9 days or more, %j is judged: %s', (seen, is) => {
  expect(judge({ ...said, latest: null }, { limit: 1_000, ...seen })).toBe(is)
})

describe('the predictions of an account', () => {
  const pace = { perDay: 10, perDayLow: 5, perDayHigh: 20, scatter: 0 }
  const follow = (usage: number, given: Partial<Parameters<typeof followPredictions>[1]> = {}, before = {}) =>
    followPredictions(before, {
      readings: readings(MADE, properties(usage)),
      snapshots: [],
      rising: { overall: pace },
      now: MADE,
      ...given,
    })

  test('begin where a limit comes as near as 30 days, in whole days', () => {
    expect(follow(699).open).toEqual({})
    expect(follow(700).open).toEqual({ overall: { at: MADE, limit: 1_000, earliest: 14, latest: 61 } })
    expect(follow(905).open).toEqual({ overall: { at: MADE, limit: 1_000, earliest: 4, latest: 20 } })
    expect(follow(1_000).open).toEqual({})
    expect(follow(905, { rising: {} }).open).toEqual({})
  })

  test('are made once: a newer forecast of the same series waits until the first one is judged', () => {
    const before = { overall: { ...said, at: MADE - 2 * DAY } }
    expect(follow(950, {}, before)).toEqual({ open: before, ended: [] })
    const late = { overall: { ...said, at: MADE - 21 * DAY } }
    expect(follow(950, {}, late)).toMatchObject({ open: { overall: { at: MADE } }, ended: ['later'] })
  })

  test('are judged by the moment at which the history has the limit reached, though it was cleaned up since', () => {
    const at = (days: number, usage: number) => ({
      at: daysOn(days),
      series: [{ metric: 'customProperties.overall' as const, usage, limit: 1_000, percent: usage / 10 }],
    })
    const snapshots = [at(-1, 1_000), at(0, 900), at(5, 1_000), at(6, 400)]
    const now = daysOn(7)
    const told = { snapshots, rising: {}, now, readings: readings(now, properties(400)) }
    expect(follow(400, told, { overall: said })).toEqual({ open: {}, ended: ['sooner'] })
  })

  test('are dropped where the series is gone, or was not read for more than three days', () => {
    const gone = follow(400, { rising: {} }, { 'type/2-9': said })
    expect(gone).toEqual({ open: {}, ended: [] })
    expect(follow(400, { rising: {}, now: daysOn(3) }, { overall: said }).open).toEqual({ overall: said })
    expect(follow(400, { rising: {}, now: daysOn(3.1) }, { overall: said })).toEqual({ open: {}, ended: [] })
  })
})

test('predictions are kept in few words, and what can not be read is not on record', () => {
  const all = { overall: said, 'type/0-1': { ...said, latest: null } }
  const stored = encodePredictions(all)
  expect(JSON.stringify(stored).length).toBeLessThan(100)
  expect(decodePredictions(stored)).toEqual(all)
  const spoilt = [['a', 1, 'x', 2, 3], 'b', null, [1, 2, 3, 4, 5], [], ...stored]
  expect(decodePredictions(spoilt)).toEqual(all)
  for (const other of [undefined, null, 'x', 7, {}]) expect(decodePredictions(other)).toEqual({})
  expect(decodeForecasts(JSON.stringify([MADE, [], [], 'x']))).toMatchObject({ at: MADE })
})
