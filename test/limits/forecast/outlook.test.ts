import { describe, expect, test } from 'vitest'
import { outlookOf, tenths } from '../../../src/limits/forecast/outlook.ts'
import type { AccountForecasts } from '../../../src/limits/forecast/stored-forecasts.ts'

const NOW = 1_763_719_200_000
const DAY = 86_400_000
const pace = { perDay: 10, perDayLow: 5, perDayHigh: 20, leap: 0, bend: 0 }
const told = (more: Partial<AccountForecasts> = {}): AccountForecasts => ({
  at: NOW - DAY,
  rising: { overall: pace },
  tooFew: { 'type/0-1': 3 },
  ...more,
})
const series = (usage: number, limit: number | null = 1_000, id = 'overall') => ({ id, usage, limit })
const none = (daysLeft: number | null | undefined, forecastReason: string) => ({
  daysLeft,
  forecast: null,
  forecastReason,
})

describe('the outlook of a series', () => {
  test('is its pace, and when it reaches the limit as it stands now', () => {
    expect(outlookOf(series(900), told(), NOW)).toEqual({
      daysLeft: 10,
      forecast: { ...pace, days: 10, earliest: 5, latest: 20 },
      forecastReason: null,
    })
    expect(outlookOf(series(900, 1_100), told(), NOW).daysLeft).toBe(20)
  })

  test('is known where it does not get there', () => {
    expect(outlookOf(series(900, 1_000, 'type/0-2'), told(), NOW)).toEqual(none(null, 'no steady growth'))
    expect(outlookOf(series(0, 1_000_000), told(), NOW)).toEqual(
      none(null, 'no limit in sight: more than 3 years away'),
    )
  })

  test('is not known with too little history, no limit, or no forecast of these days', () => {
    expect(outlookOf(series(900, 1_000, 'type/0-1'), told(), NOW)).toEqual({
      ...none(undefined, 'forecasts start after 7 days of data: 3 so far'),
    })
    expect(outlookOf(series(900, null), told(), NOW)).toEqual(none(undefined, 'no limit to reach'))
    const never = none(undefined, 'forecasts start after 7 days of data')
    expect(outlookOf(series(900), undefined, NOW)).toEqual(never)
    const missing = none(undefined, 'no forecast was made in the last 3 days')
    expect(outlookOf(series(900), told({ at: NOW - 3 * DAY - 1 }), NOW)).toEqual(missing)
    expect(outlookOf(series(900), told({ at: NOW - 3 * DAY }), NOW).daysLeft).toBe(10)
  })

  test('at the limit is 0 days, with a forecast or without', () => {
    expect(outlookOf(series(1_000), told(), NOW)).toMatchObject({ daysLeft: 0, forecast: { days: 0 } })
    expect(outlookOf(series(1_001), undefined, NOW)).toMatchObject({ daysLeft: 0, forecast: null })
    expect(outlookOf(series(1_000, 1_000, 'type/0-1'), told(), NOW)).toMatchObject({ daysLeft: 0, forecast: null })
  })
})

test.each([
  [6.449, 6.4],
  [0.04, 0.1],
  [0, 0],
  [0.001, 0.1],
])('%d days are told as %d', (days, as) => {
  expect(tenths(days)).toBe(as)
})
