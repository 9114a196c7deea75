import { expect, test } from 'vitest'
import { daysLeft, forecast, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { DAY } from './days.ts'
import { HISTORIES, type Vantage, vantagesOf } from './histories.ts'

/** None of them was used to choose a number of the forecast; `PLIMSOLL_SEED` takes others, and prints what was measured. */
const FIRST_SEED = Number(process.env.PLIMSOLL_SEED ?? 300_000)
const SEEDS = 150

/** What was said on the days of one kind of history; shares of 1. */
function measure(kind: string) {
  const days = Array.from({ length: SEEDS }, (_, n) => vantagesOf(kind, FIRST_SEED + n)).flat()
  const said = days.map(say).filter((one) => one !== undefined)
  const share = (of: typeof said, is: (one: (typeof said)[number]) => boolean) => of.filter(is).length / of.length
  const widths = said.flatMap(({ days, earliest, latest }) => (latest === null ? [] : [(latest - earliest) / days]))
  const near = said.filter(({ days }) => days <= 30)
  return {
    said: said.length / days.length,
    held: share(said, ({ outcome }) => outcome === 'held'),
    sooner: share(said, ({ outcome }) => outcome === 'sooner'),
    /** Of those that name less than 31 days: without a later end. */
    openNear: share(near, ({ latest }) => latest === null),
    /** Half of the ranges with two ends are no wider, in their days. */
    width: widths.sort((a, b) => a - b)[Math.floor(widths.length / 2)] ?? 0,
  }
}

/** In whole days, as people read it; undefined where no end was foretold. */
function say({ usages, limit, truth }: Vantage) {
  const pace = forecast(usages.map((usage, n) => ({ day: DAY + n, usage })).slice(-WINDOW_DAYS))
  const left = typeof pace === 'string' ? undefined : daysLeft(usages.at(-1) ?? 0, limit, pace)
  if (left === undefined) return undefined
  const isLater = truth > Math.ceil(left.latest ?? Number.POSITIVE_INFINITY)
  return { ...left, outcome: truth < Math.floor(left.earliest) ? 'sooner' : isLater ? 'later' : 'held' }
}

test.each([
  ['steady', 0.1, 0.8],
  ['accelerating', 0.1, 1.2],
  ['slowing growth', 0.4, 1.4],
  ['filling up to a plateau', 0.5, 2.4],
  ['cleaned up now and then', 0.8, 2.8],
  ['imported weekly', 0.4, 2.2],
  ['in batches', 0.7, 2.8],
  ['faster since', 0.2, 1],
  ['slower since', 0.4, 1.2],
  ['noisy', 0.25, 2],
  ['on weekdays', 0.2, 1.2],
  ['after a pause', 0.3, 1],
  ['a new account', 0.8, 1.2],
])(
  '%s: three of four ranges hold, nine of ten limits come no sooner, and ranges say something',
  (kind, open, width) => {
    const found = measure(kind)
    const all = JSON.stringify({ kind, ...found })
    if (process.env.PLIMSOLL_SEED !== undefined) process.stdout.write(`${all}\n`)
    expect(found.said, all).toBeGreaterThan(0.7)
    expect(found.held, all).toBeGreaterThanOrEqual(0.75)
    expect(found.sooner, all).toBeLessThanOrEqual(0.1)
    expect(found.openNear, all).toBeLessThanOrEqual(open)
    expect(found.width, all).toBeLessThanOrEqual(width)
  },
)

test('there is no other kind', () => {
  expect(Object.keys(HISTORIES)).toHaveLength(13)
})
