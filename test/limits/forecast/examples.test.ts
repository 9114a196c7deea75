import { expect, test } from 'vitest'
import { type DaysLeft, daysLeft, forecast, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { chance } from '../../support/dice.ts'
import { bell, DAY } from './days.ts'

type Usage = (day: number) => number

/** What is told on each of the days after something changed, before usage reaches 1,000; undefined: nothing. */
function toldOf(usage: Usage, before: number, days: number) {
  const told = new Map<number, (DaysLeft & { isRight: boolean }) | undefined>()
  for (let today = 1; today <= days && usage(today) < 1_000; today++) {
    const from = Math.max(1 - before, today + 1 - WINDOW_DAYS)
    const points = Array.from({ length: today + 1 - from }, (_, n) => ({ day: DAY + from + n, usage: usage(from + n) }))
    const pace = forecast(points)
    const left = typeof pace === 'string' ? undefined : daysLeft(usage(today), 1_000, pace)
    told.set(today, left && { ...left, isRight: isRight(left, daysFrom(today, usage)) })
  }
  return told
}

/** In whole days, as people read it. */
function isRight({ earliest, latest }: DaysLeft, truth: number): boolean {
  return Math.floor(earliest) <= truth && truth <= Math.ceil(latest ?? Number.POSITIVE_INFINITY)
}

function daysFrom(today: number, usage: Usage): number {
  for (let day = today + 1; day < today + 1_000; day++) {
    const [before, now] = [usage(day - 1), usage(day)]
    if (now >= 1_000) return day - 1 - today + (1_000 - before) / (now - before)
  }
  return Number.POSITIVE_INFINITY
}

const since = (day: number) => Math.max(0, day)
/** Weekdays among the first days; day 1 is a Wednesday. */
const weekdays = (days: number) => {
  const count = (day: number) => 5 * Math.floor(day / 7) + Math.min(5, ((day % 7) + 7) % 7)
  return count(days + 2) - count(2)
}

test.each<[name: string, first: number, usage: Usage, wrong?: number]>([
  ['rises by 5 a day', 1, (n) => 500 + 5 * n],
  ['was flat for weeks, then rises by 10 a day', 2, (n) => 500 + 10 * since(n)],
  ['began to rise late in a day', 3, (n) => 500 + 10 * since(n - 0.7)],
  ['began to rise, and errs', 3, (n) => Math.round(500 + 10 * since(n) + 4 * bell(chance(n * 7_919 + 3))), 1],
  ['was flat, then grows by 3 % a day', 2, (n) => Math.round(400 * 1.03 ** since(n))],
  ['rises on weekdays only', 1, (n) => 500 + 14 * weekdays(n)],
  ['was flat, then rises on weekdays', 2, (n) => 500 + 14 * weekdays(since(n))],
  ['rises twice as fast', 2, (n) => 500 + 5 * n + 5 * since(n)],
  ['rises at a fifth of its pace', 2, (n) => 600 + 10 * n - 8 * since(n)],
  ['was cleaned up once', 1, (n) => 700 + 5 * n - (n > 0 ? 200 : 0)],
  ['had an import of 200 once', 1, (n) => 500 + 5 * n + (n > 0 ? 200 : 0)],
])('of what %s, its end is told by day %i, and ranges hold it from then on', (_, first, usage, wrong = 0) => {
  const told = toldOf(usage, 35, 60)
  expect(told.get(first)).toMatchObject({ isRight: true })
  const later = [...told].filter(([day]) => day > first)
  expect(later.filter(([, one]) => one?.isRight === false).length).toBeLessThanOrEqual(wrong)
  expect(later.filter(([, one]) => one === undefined).length).toBeLessThanOrEqual(5)
})

test.each<[name: string, until: number, usage: Usage]>([
  ['stands still after steady growth', 28, (n) => 600 + 10 * (n - since(n))],
  ['falls after steady growth', 7, (n) => 700 + 10 * n - 20 * since(n)],
  ['had an import over three days', 8, (n) => 500 + 60 * Math.min(3, since(n))],
  ['had an import of 200 at once', 0, (n) => (n > 0 ? 700 : 500)],
])('of what %s, an end is told without a last day, and none after %i days', (_, until, usage) => {
  const told = [...toldOf(usage, 35, 60)]
  expect(told.filter(([day, one]) => one !== undefined && (day > until || (day > 2 && one.latest !== null)))).toEqual(
    [],
  )
})

test.each([100, 1_000, 10_000])('growth by 3 % a day from %i is in the range from the twelfth day on', (start) => {
  for (const times of [1.6, 2, 3, 5, 10, 30]) {
    const told = toldOf((n) => (Math.round(start * 1.03 ** n) * 1_000) / (start * times), 1, 200)
    expect([...told].filter(([day, one]) => day >= 11 && one?.isRight !== true)).toEqual([])
  }
})
