import { expect, test } from 'vitest'
import { daysLeft, forecast, HORIZON_DAYS, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { type AccountForecasts, forecastSeries, UTC_DAY_MS } from '../../../src/limits/forecast/forecast-account.ts'
import { type Outlook, outlookOf } from '../../../src/limits/forecast/outlook.ts'
import type { Series } from '../../../src/limits/series.ts'
import { bell, DAY, daily, dice, happening } from './days.ts'
import { SHAPES, type Shape } from './shapes.ts'

type Roll = () => number

/** A kind of history, drawn anew for each seed: what it adds on the average, and how usage goes on from one day to the next. */
interface Made {
  start: number
  perDay: (usage: number) => number
  next: (usage: number, day: number) => number
  /** What a reading errs by. */
  error?: () => number
}

const between = (roll: Roll, low: number, high: number) => low + (high - low) * roll()
/** As often from 1 to 10 as from 10 to 100. */
const evenly = (roll: Roll, low: number, high: number) => low * (high / low) ** roll()

type Kind = (roll: Roll, days: number) => Made

const KINDS: Record<string, Kind> = {
  'random walk with drift': (roll) => {
    const [pace, spread] = [evenly(roll, 0.5, 50), between(roll, 0.2, 2)]
    return { start: 500, perDay: () => pace, next: (usage) => usage + pace * (1 + spread * bell(roll)) }
  },
  'things added by chance': (roll) => {
    const pace = evenly(roll, 0.3, 30)
    return { start: 300, perDay: () => pace, next: (usage) => usage + happening(roll, pace) }
  },
  'weekly rhythm': (roll) => {
    const [pace, monday] = [evenly(roll, 1, 30), Math.floor(roll() * 7)]
    const next = (usage: number, day: number) => usage + ((day + monday) % 7 < 5 ? happening(roll, 1.4 * pace) : 0)
    return { start: 300, perDay: () => pace, next }
  },
  'change of pace': (roll, days) => {
    const [before, since, on] = [evenly(roll, 0.5, 30), evenly(roll, 0.5, 30), between(roll, days - 35, days)]
    const next = (usage: number, day: number) => usage + happening(roll, day < on ? before : since)
    return { start: 300, perDay: () => since, next }
  },
  'steps, also to come': (roll) => {
    const [pace, every] = [evenly(roll, 0.5, 30), between(roll, 15, 60)]
    const step = () => (roll() < 1 / every ? pace * between(roll, 5, 40) : 0)
    return { start: 300, perDay: () => pace, next: (usage) => usage + happening(roll, pace) + step() }
  },
  'noise around a line': (roll) => {
    const [pace, spread] = [evenly(roll, 0.5, 30), between(roll, 0.2, 4)]
    return { start: 500, perDay: () => pace, next: (usage) => usage + pace, error: () => pace * spread * bell(roll) }
  },
  'compound growth': (roll) => {
    const [share, spread, start] = [between(roll, 0.005, 0.04), between(roll, 0, 1), evenly(roll, 50, 2_000)]
    return { start, perDay: (usage) => usage * share, next: (usage) => usage * (1 + share * (1 + spread * bell(roll))) }
  },
}

/** How often the range that is told of a history holds what came true when that went on. */
function coverageOf(histories: number): { told: number; inside: number } {
  const kinds = Object.values(KINDS)
  const fates = Array.from({ length: histories }, (_, seed) =>
    isInside(kinds[seed % kinds.length] as Kind, dice(seed * 7_919 + 17)),
  )
  const told = fates.filter((is) => is !== undefined)
  return { told: told.length, inside: told.filter(Boolean).length }
}

/** Undefined: no end was told. */
function isInside(kind: Kind, roll: Roll): boolean | undefined {
  const days = Math.floor(between(roll, 10, 60))
  const { start, perDay, next, error } = kind(roll, days)
  let exact = start
  const read = (day: number) => {
    exact = next(exact, day)
    return Math.max(0, Math.round(exact + (error?.() ?? 0)))
  }
  const points = daily(days, read)
  const usage = points.at(-1)?.usage ?? 0
  const limit = Math.ceil(usage + Math.max(1, perDay(exact) * evenly(roll, 4, 90)))
  const truth = daysUntil(limit, usage, (n) => read(days + n))
  const pace = forecast(points.slice(-WINDOW_DAYS))
  const left = typeof pace === 'string' ? pace : daysLeft(usage, limit, pace)
  if (typeof left === 'string') return undefined
  return left.earliest <= truth && truth <= (left.latest ?? Number.POSITIVE_INFINITY)
}

function daysUntil(limit: number, usage: number, read: (n: number) => number): number {
  let before = usage
  for (let n = 0; n < HORIZON_DAYS; n++) {
    const now = read(n)
    if (now >= limit) return n + (limit - before) / (now - before)
    before = now
  }
  return Number.POSITIVE_INFINITY
}

/** What was said on one day, and what came true: days until the series has its limit of that day, infinite if never. */
interface Said {
  day: number
  outlook: Outlook
  truth: number
  isRight: boolean
}

type Movement = Omit<Shape, 'name' | 'expected'>

/** What is told of a shape on each day after the change, from what is known on it. */
function runShape(shape: Movement): Said[] {
  const said: Said[] = []
  for (let day = 1; day <= shape.days && shape.usage(day) < limitOn(shape, day); day++) {
    if (shape.isMissing?.(day) === true) continue
    const outlook = outlookOn(shape, day)
    const truth = truthOn(shape, day)
    said.push({ day, outlook, truth, isRight: isRight(outlook, truth) })
  }
  return said
}

/** As `Shape.expected` has it. */
function outcomeOf(said: readonly Said[]): Shape['expected'] {
  const noticed = said.find(({ isRight }) => isRight)?.day ?? Number.POSITIVE_INFINITY
  const failed = said.filter(({ day, isRight }) => day > noticed && !isRight)
  const wrong = failed.filter(({ outlook }) => outlook.forecast !== null).length
  const last = said.findLast(({ outlook }) => outlook.forecast !== null)?.day ?? null
  return [noticed, wrong, failed.length - wrong, last]
}

/** In whole days, as people read it: from the day that may be the first to the one that may be the last. */
function isRight({ daysLeft, forecast }: Outlook, truth: number): boolean {
  if (forecast === null) return daysLeft === null && truth > HORIZON_DAYS
  return Math.floor(forecast.earliest) <= truth && truth <= Math.ceil(forecast.latest ?? Number.POSITIVE_INFINITY)
}

function outlookOn(shape: Movement, today: number): Outlook {
  const limit = limitOn(shape, today)
  const usage = shape.usage(today)
  const metric = 'customProperties.overall'
  const series: Series = { id: 'overall', metric, usage, limit, percent: (usage * 100) / limit }
  const days = Array.from({ length: Math.min(WINDOW_DAYS, today + shape.before) }, (_, n) => today - n)
    .reverse()
    .filter((n) => shape.isMissing?.(n) !== true)
  const values = days.map((n) => ({ day: DAY + n, usage: shape.usage(n), limit: limitOn(shape, n) }))
  const now = (DAY + today + 1) * UTC_DAY_MS
  const told: AccountForecasts = forecastSeries([series], new Map([['overall', values]]), now)
  return outlookOf(series, told, now)
}

function truthOn(shape: Movement, today: number): number {
  const limit = limitOn(shape, today)
  for (let day = today + 1; day <= today + HORIZON_DAYS; day++) {
    const [before, usage] = [shape.usage(day - 1), shape.usage(day)]
    if (usage >= limit) return day - 1 - today + (limit - before) / (usage - before)
  }
  return Number.POSITIVE_INFINITY
}

function limitOn({ limit }: Movement, day: number): number {
  return limit?.(day) ?? 1_000
}

test.each(SHAPES)('$name', (shape) => {
  expect(outcomeOf(runShape(shape))).toEqual(shape.expected)
})

test.each([100, 200, 500, 1_000, 10_000])(
  'growth by 3 percent a day from %i is in the range from day 10 on, whatever the limit',
  (start) => {
    for (const times of [1.6, 2, 3, 5, 10, 30]) {
      const usage = (n: number) => Math.round(start * 1.03 ** n)
      const said = runShape({ before: 1, days: 200, usage, limit: () => start * times }).filter(({ day }) => day >= 9)
      expect(said.filter(({ isRight }) => !isRight)).toEqual([])
      expect(said.length).toBeGreaterThan(5)
    }
  },
)

test('the range that is stated as holding at least 80 of 100 truths does, and not all of them, over 1,000 histories of seven kinds', () => {
  const { told, inside } = coverageOf(1_000)
  expect(told).toBeGreaterThan(950)
  expect(inside / told).toBeGreaterThanOrEqual(0.8)
  expect(inside / told).toBeLessThanOrEqual(0.95)
})
