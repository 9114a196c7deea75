import { expect, test } from 'vitest'
import { followPredictions, type Prediction } from '../../../src/limits/forecast/predictions.ts'
import { properties, readings } from '../reports.ts'

const DAY = 86_400_000
const MADE = 20_400 * DAY
const daysOn = (days: number) => MADE + days * DAY
const said: Prediction = { at: MADE, limit: 1_000, earliest: 9, latest: 20 }

/** What becomes of a prediction of an account that was read at usage, by default full, after so many days. */
function follow(before: Record<string, Prediction>, days: number, more: Partial<typeof NEVER> = {}) {
  const { reached, limit, usage, rising } = { ...NEVER, ...more }
  const [now, series] = [daysOn(days), { metric: 'customProperties.overall' as const, limit, percent: null }]
  const at = (day: number, usage: number) => ({ at: daysOn(day), series: [{ ...series, usage }] })
  const snapshots = [at(-1, limit), at(0, 700), ...(reached === undefined ? [] : [at(reached, 1_000), at(days, usage)])]
  return followPredictions(before, { readings: readings(now, properties(usage, limit)), snapshots, rising, now })
}

const NEVER = { reached: undefined as number | undefined, limit: 1_000, usage: 400, rising: {} }

test.each([
  [8.9, 20, 'sooner'],
  [9, 20, 'held'],
  [20, 20, 'held'],
  [20.1, 20, 'later'],
  [8.9, null, 'sooner'],
  [12, null, 'held'],
] as const)(
  'a limit that was reached after %d days, of 9 to %j, is judged %s, though it was cleaned up since',
  (reached, latest, is) => {
    expect(follow({ overall: { ...said, latest } }, reached + 0.5, { reached })).toEqual({ open: {}, ended: [is] })
  },
)

test.each([
  [20, 20, undefined],
  [20.1, 20, 'later'],
  [30, null, undefined],
  [30.1, null, 'open'],
] as const)('a limit that was not reached in %d days, of 9 to %j, is judged %s', (days, latest, is) => {
  const before = { overall: { ...said, latest } }
  expect(follow(before, days)).toEqual(is === undefined ? { open: before, ended: [] } : { open: {}, ended: [is] })
})

test('a limit that was moved ends a prediction, without an outcome unless it was reached before', () => {
  expect(follow({ overall: said }, 5, { limit: 2_000 })).toEqual({ open: {}, ended: [] })
  expect(follow({ overall: said }, 21, { limit: 2_000 })).toEqual({ open: {}, ended: [] })
  expect(follow({ overall: said }, 13, { limit: 2_000, reached: 12 })).toEqual({ open: {}, ended: ['held'] })
})

test('predictions begin where a limit comes as near as 30 days, in whole days', () => {
  const rising = { overall: { perDay: 10, perDayLow: 5, perDayHigh: 20, leap: 0, bend: 0 } }
  const begin = (usage: number, more = {}) => follow({}, 0, { usage, rising, ...more }).open
  expect(begin(699)).toEqual({})
  expect(begin(700)).toEqual({ overall: { at: MADE, limit: 1_000, earliest: 14, latest: 61 } })
  expect(begin(905)).toEqual({ overall: { at: MADE, limit: 1_000, earliest: 4, latest: 20 } })
  expect(begin(1_000)).toEqual({})
  expect(begin(905, { rising: {} })).toEqual({})
})

test('predictions are made once: a newer forecast of the same series waits until the first one is judged', () => {
  const rising = { overall: { perDay: 10, perDayLow: 5, perDayHigh: 20, leap: 0, bend: 0 } }
  expect(follow({ overall: said }, 2, { usage: 950, rising })).toEqual({ open: { overall: said }, ended: [] })
  const next = follow({ overall: said }, 21, { usage: 950, rising })
  expect(next).toMatchObject({ open: { overall: { at: daysOn(21) } }, ended: ['later'] })
})

test('predictions are dropped where the series is gone, or was not read for more than three days', () => {
  expect(follow({ 'type/2-9': said }, 1)).toEqual({ open: {}, ended: [] })
  const unread = (days: number) =>
    followPredictions(
      { overall: said },
      { readings: readings(MADE, properties(400)), snapshots: [], rising: {}, now: daysOn(days) },
    )
  expect(unread(3).open).toEqual({ overall: said })
  expect(unread(3.1)).toEqual({ open: {}, ended: [] })
})
