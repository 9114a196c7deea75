import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CONFIDENCE,
  type DailyPoint,
  daysLeft,
  ENOUGH_POINTS,
  type Forecast,
  forecast,
  HORIZON_DAYS,
  WINDOW_DAYS,
} from '../../../src/limits/forecast/forecast.ts'

const DAY = 20_000

function daily(count: number, usageOn: (n: number) => number): DailyPoint[] {
  return Array.from({ length: count }, (_, n) => ({ day: DAY + n, usage: usageOn(n) }))
}

function paceOf(points: readonly DailyPoint[]): Forecast {
  const told = forecast(points)
  if (told === 'not-enough-history') throw new Error(told)
  return told
}

/** Numbers from 0 to 1, the same for the same seed. */
function dice(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const bell = (roll: () => number) => Math.sqrt(-2 * Math.log(1 - roll())) * Math.cos(2 * Math.PI * roll())

/** How many things happen in a day on which `mean` are expected. */
function happening(roll: () => number, mean: number): number {
  let count = 0
  for (let left = roll(); left > Math.exp(-mean); left *= roll()) count++
  return count
}

/** A count to which each day adds. */
function adding(days: number, added: (n: number) => number): DailyPoint[] {
  let usage = 400
  return daily(days, (n) => {
    usage += added(n)
    return usage
  })
}

describe('the pace of a line', () => {
  const line = fc.record({
    days: fc.integer({ min: ENOUGH_POINTS, max: WINDOW_DAYS }),
    start: fc.integer({ min: 0, max: 1_000_000 }),
    perDay: fc.integer({ min: -500, max: 500 }),
  })

  test('is exact, and its range is no wider', () => {
    fc.assert(
      fc.property(line, ({ days, start, perDay }) => {
        expect(paceOf(daily(days, (n) => start + n * perDay))).toEqual({
          perDay,
          perDayLow: perDay,
          perDayHigh: perDay,
        })
      }),
    )
  })

  test('is the same whatever days are missing', () => {
    const some = fc.uniqueArray(fc.nat(WINDOW_DAYS - 1), { minLength: ENOUGH_POINTS, maxLength: WINDOW_DAYS })
    fc.assert(
      fc.property(line, some, ({ start, perDay }, days) => {
        const points = days.sort((a, b) => a - b).map((n) => ({ day: DAY + n, usage: start + n * perDay }))
        expect(paceOf(points).perDay).toBe(perDay)
      }),
    )
  })

  test('is the same whatever one jump lies in it, up or down, on whatever day', () => {
    const jump = fc.record({ at: fc.nat(), by: fc.integer({ min: -100_000, max: 100_000 }) })
    fc.assert(
      fc.property(line, jump, ({ days, start, perDay }, { at, by }) => {
        const from = 1 + (at % (days - 1))
        const told = paceOf(daily(days, (n) => start + n * perDay + (n >= from ? by : 0)))
        expect(told).toEqual({ perDay, perDayLow: perDay, perDayHigh: perDay })
      }),
    )
  })

  test('follows its numbers: moved, multiplied, turned upside down', () => {
    const usages = fc.array(fc.integer({ min: 0, max: 10_000 }), { minLength: ENOUGH_POINTS, maxLength: WINDOW_DAYS })
    fc.assert(
      fc.property(usages, fc.integer({ min: 1, max: 1_000 }), (given, by) => {
        const of = (usage: (one: number) => number) => paceOf(daily(given.length, (n) => usage(given[n] ?? 0)))
        const plain = of((one) => one)
        const near = (found: Forecast, perDay: number, low: number, high: number) => {
          for (const [is, wanted] of [
            [found.perDay, perDay],
            [found.perDayLow, low],
            [found.perDayHigh, high],
          ] as const)
            expect(Math.abs(is - wanted)).toBeLessThan(1e-6 * (1 + Math.abs(wanted)))
        }
        expect(plain.perDayLow).toBeLessThanOrEqual(plain.perDay)
        expect(plain.perDayHigh).toBeGreaterThanOrEqual(plain.perDay)
        near(
          of((one) => one + by),
          plain.perDay,
          plain.perDayLow,
          plain.perDayHigh,
        )
        near(
          of((one) => one * by),
          plain.perDay * by,
          plain.perDayLow * by,
          plain.perDayHigh * by,
        )
        near(
          of((one) => -one),
          -plain.perDay,
          -plain.perDayHigh,
          -plain.perDayLow,
        )
      }),
    )
  })
})

describe('history that is short', () => {
  test.each([0, 1, 3, 6])('of %i days is not enough', (days) => {
    expect(forecast(daily(days, (n) => n))).toBe('not-enough-history')
  })

  test('is enough with seven days, also where days are missing between them', () => {
    expect(paceOf(daily(7, (n) => 2 * n)).perDay).toBe(2)
    expect(paceOf(daily(7, (n) => n * 9).map(({ day, usage }, n) => ({ day: day + 2 * n, usage }))).perDay).toBe(3)
  })
})

describe('what is no growth', () => {
  test.each(Array.from({ length: 41 }, (_, n) => n + 1))('a jump on day %i of 42, and nothing else', (at) => {
    const told = paceOf(daily(42, (n) => (n < at ? 500 : 700)))
    expect(told).toEqual({ perDay: 0, perDayLow: 0, perDayHigh: 0 })
  })

  test('a jump among days that go up and down', () => {
    const roll = dice(7)
    const told = paceOf(daily(42, (n) => (n < 21 ? 500 : 700) + Math.round(2 * bell(roll))))
    expect(told.perDayLow).toBeLessThanOrEqual(0)
    expect(told.perDayHigh).toBeLessThan(1)
  })

  test('a few odd days', () => {
    const odd = new Map([
      [5, 900],
      [6, 20],
      [30, 5_000],
    ])
    const told = paceOf(daily(42, (n) => odd.get(n) ?? 500))
    expect(told.perDay).toBe(0)
    expect(told.perDayLow).toBeLessThanOrEqual(0)
  })
})

describe('the range', () => {
  /** In how many of 400 series the true pace lies in the range. */
  function held(perDay: number, series: (roll: () => number, days: number) => DailyPoint[], days: number): number {
    const runs = Array.from({ length: 400 }, (_, seed) => paceOf(series(dice(seed * 7_919 + days), days)))
    return runs.filter(({ perDayLow, perDayHigh }) => perDayLow <= perDay && perDay <= perDayHigh).length / runs.length
  }

  function lastingNoise(roll: () => number, days: number): DailyPoint[] {
    let noise = 0
    return daily(days, (n) => {
      noise = 0.7 * noise + 3 * bell(roll)
      return Math.round(400 + 2 * n + noise)
    })
  }

  const weekday = (n: number) => n % 7 < 5
  const SERIES: [name: string, perDay: number, series: (roll: () => number, days: number) => DailyPoint[]][] = [
    ['a count to which things are added by chance', 2, (roll, days) => adding(days, () => happening(roll, 2))],
    ['a count that also loses', 1, (roll, days) => adding(days, () => happening(roll, 3) - happening(roll, 2))],
    ['days of very different size', 2, (roll, days) => adding(days, () => 2 + 3 * bell(roll))],
    ['work on weekdays only', 2, (roll, days) => adding(days, (n) => (weekday(n) ? happening(roll, 2.8) : 0))],
    [
      'a count with one import in it',
      2,
      (roll, days) => {
        const at = 1 + Math.floor(roll() * (days - 1))
        return adding(days, (n) => happening(roll, 2) + (n === at ? 300 : 0))
      },
    ],
    ['noise around a line', 2, (roll, days) => daily(days, (n) => Math.round(400 + 2 * n + 5 * bell(roll)))],
    [
      'noise around a line with a step in it',
      2,
      (roll, days) => {
        const at = 1 + Math.floor(roll() * (days - 1))
        return daily(days, (n) => Math.round(400 + 2 * n + 5 * bell(roll)) + (n < at ? 0 : 200))
      },
    ],
    ['noise around a level', 0, (roll, days) => daily(days, () => Math.round(400 + 5 * bell(roll)))],
    ['noise that lasts for days', 2, (roll, days) => lastingNoise(roll, days)],
    ['a few odd days in ten', 2, (roll, days) => daily(days, (n) => 400 + 2 * n + (roll() < 0.1 ? 200 : 0))],
    [
      'a count that is full for the last fifth',
      2,
      (roll, days) => {
        const points = adding(days, () => happening(roll, 2))
        const limit = points[Math.floor(days * 0.8)]?.usage ?? 0
        return points.map(({ day, usage }) => ({ day, usage: Math.min(limit, usage) }))
      },
    ],
    [
      'half of the days missing',
      2,
      (roll, days) => {
        const all = adding(2 * days, () => happening(roll, 2))
        const there = all.filter((_, n) => n % 2 === 0 || roll() < 0.1)
        return there.slice(0, Math.max(ENOUGH_POINTS, there.length))
      },
    ],
  ]

  test.each(SERIES)('of six weeks holds the true pace about as often as it says: %s', (_, perDay, series) => {
    expect(held(perDay, series, WINDOW_DAYS)).toBeGreaterThanOrEqual(CONFIDENCE - 0.05)
  })

  test.each(SERIES)('of ten days does not promise much more than it holds: %s', (_, perDay, series) => {
    expect(held(perDay, series, 10)).toBeGreaterThanOrEqual(CONFIDENCE - 0.1)
  })

  test.each(SERIES)('of a single week is wrong in one of five at most: %s', (_, perDay, series) => {
    expect(held(perDay, series, ENOUGH_POINTS)).toBeGreaterThanOrEqual(CONFIDENCE - 0.1)
  })

  const COUNTS: [name: string, perDay: number, leastTold: number][] = [
    ['two a day', 2, 0.95],
    ['one in three days', 0.3, 0.9],
    ['one in ten days', 0.1, 0.25],
  ]
  test.each(COUNTS)('of a count that rises by %s holds the day on which it is full', (_, perDay, leastTold) => {
    const runs = Array.from({ length: 400 }, (_, seed) => {
      const roll = dice(seed * 7_919 + 11)
      const points = adding(WINDOW_DAYS, () => happening(roll, perDay))
      const usage = points.at(-1)?.usage ?? 0
      const remaining = 100 * perDay
      return { told: daysLeft(usage, usage + remaining, paceOf(points)), days: 100 }
    })
    const told = runs.flatMap(({ told, days }) => (typeof told === 'string' ? [] : [{ ...told, days }]))
    expect(told.length / runs.length).toBeGreaterThan(leastTold)
    const right = told.filter(({ earliest, latest, days }) => earliest <= days && days <= (latest ?? HORIZON_DAYS))
    expect(right.length / told.length).toBeGreaterThanOrEqual(CONFIDENCE - 0.05)
  })

  test('is not so wide that it says nothing', () => {
    const roll = dice(1)
    const { perDay, perDayLow, perDayHigh } = paceOf(adding(WINDOW_DAYS, () => happening(roll, 2)))
    expect(perDayHigh - perDayLow).toBeLessThan(1.5)
    expect(Math.abs(perDay - 2)).toBeLessThan(0.7)
    const noise = paceOf(daily(WINDOW_DAYS, (n) => 400 + 2 * n + 2 * bell(roll)))
    expect(noise.perDayHigh - noise.perDayLow).toBeLessThan(1)
  })

  test('of a count that rises by one a week rises too, and holds a seventh', () => {
    const { perDayLow, perDayHigh } = paceOf(daily(WINDOW_DAYS, (n) => Math.floor(n / 7)))
    expect(perDayLow).toBeGreaterThan(0)
    expect(perDayLow).toBeLessThanOrEqual(1 / 7)
    expect(perDayHigh).toBeGreaterThanOrEqual(1 / 7)
  })

  test('of a series that got stuck for its last days holds the pace from before', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 50 }), (stuck, perDay) => {
        const top = (WINDOW_DAYS - 1 - stuck) * perDay
        const told = paceOf(daily(WINDOW_DAYS, (n) => Math.min(top, n * perDay)))
        expect(told.perDay).toBe(perDay)
        expect(told.perDayHigh).toBeGreaterThanOrEqual(perDay)
        expect(told.perDayLow).toBeLessThanOrEqual(perDay)
      }),
    )
  })

  test('seldom rises where nothing does', () => {
    const up = Array.from({ length: 400 }, (_, seed) => {
      const roll = dice(seed)
      return paceOf(adding(WINDOW_DAYS, () => Math.round(bell(roll)))).perDayLow > 0
    })
    expect(up.filter(Boolean).length).toBeLessThan(0.1 * up.length)
  })
})

describe('days left', () => {
  const pace = (perDay: number, perDayLow = perDay, perDayHigh = perDay): Forecast => ({
    ...{ perDay, perDayLow, perDayHigh },
  })

  test('are what remains by the pace, and by both ends of its range', () => {
    expect(daysLeft(900, 1_000, pace(10, 5, 20))).toEqual({ days: 10, earliest: 5, latest: 20 })
  })

  test('are 0 at the limit and over it, whatever is known of the pace', () => {
    for (const known of [pace(1), pace(-1), undefined]) {
      expect(daysLeft(1_000, 1_000, known)).toEqual({ days: 0, earliest: 0, latest: 0 })
      expect(daysLeft(1_200, 1_000, known)).toMatchObject({ days: 0 })
    }
  })

  test.each([
    ['stands still', pace(0)],
    ['falls', pace(-2)],
    ['may as well stand still', pace(1, -0.5, 2.5)],
    ['is not known', undefined],
  ])('are none for a pace that %s', (_, known) => {
    expect(daysLeft(900, 1_000, known)).toBe('no-growth')
  })

  test('are none without a limit', () => {
    expect(daysLeft(900, null, pace(1))).toBe('no-limit')
  })

  test('are told for three years ahead at most', () => {
    expect(daysLeft(0, HORIZON_DAYS, pace(1))).toEqual({ days: HORIZON_DAYS, earliest: HORIZON_DAYS, latest: 1095 })
    expect(daysLeft(0, HORIZON_DAYS + 1, pace(1))).toBe('not-in-sight')
    expect(daysLeft(0, 1_000, pace(1, 0.5, 2))).toEqual({ days: 1_000, earliest: 500, latest: null })
  })

  test('come down by one a day on a line, until it is full', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 300 }), (perDay, days) => {
        const points = daily(WINDOW_DAYS, (n) => n * perDay)
        const usage = points.at(-1)?.usage ?? 0
        expect(daysLeft(usage, usage + days * perDay, paceOf(points))).toEqual({ days, earliest: days, latest: days })
      }),
    )
  })
})
