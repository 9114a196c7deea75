import { expect, test } from 'vitest'
import { daysLeft, forecast, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { DAY } from './days.ts'
import { HISTORIES, type Vantage, vantagesOf } from './histories.ts'

/** None of them was used to choose a number of the forecast; `PLIMSOLL_SEED` takes others, and prints what was measured. */
const FIRST_SEED = Number(process.env.PLIMSOLL_SEED ?? 50_000)
const SEEDS = 150

/** What was said on the days of one kind of history; shares of 1. */
interface Measured {
  said: number
  held: number
  sooner: number
  later: number
  /** Without a later end, of all and of those that name less than 31 days. */
  open: number
  openNear: number
  /** Half of the ranges with two ends are no wider, in their days. */
  width: number
}

function measure(kind: string): Measured {
  const days = Array.from({ length: SEEDS }, (_, n) => vantagesOf(kind, FIRST_SEED + n)).flat()
  const said = days.map(say).filter((one) => one !== undefined)
  const share = (of: typeof said, is: (one: (typeof said)[number]) => boolean) => of.filter(is).length / of.length
  const widths = said.flatMap(({ days, earliest, latest }) => (latest === null ? [] : [(latest - earliest) / days]))
  return {
    said: said.length,
    held: share(said, ({ outcome }) => outcome === 'held'),
    sooner: share(said, ({ outcome }) => outcome === 'sooner'),
    later: share(said, ({ outcome }) => outcome === 'later'),
    open: share(said, ({ latest }) => latest === null),
    openNear: share(
      said.filter(({ days }) => days <= 30),
      ({ latest }) => latest === null,
    ),
    width: widths.sort((a, b) => a - b)[Math.floor(widths.length / 2)] ?? 0,
  }
}

/** In whole days, as people read it; undefined where no end was foretold. */
function say({ usages, limit, truth }: Vantage) {
  const points = usages.map((usage, n) => ({ day: DAY + n, usage })).slice(-WINDOW_DAYS)
  const pace = forecast(points)
  const left = typeof pace === 'string' ? pace : daysLeft(usages.at(-1) ?? 0, limit, pace)
  if (typeof left === 'string') return undefined
  const isLater = truth > Math.ceil(left.latest ?? Number.POSITIVE_INFINITY)
  return { ...left, outcome: truth < Math.floor(left.earliest) ? 'sooner' : isLater ? 'later' : 'held' }
}

test.each(Object.keys(HISTORIES))('%s: three of four ranges hold, and nine of ten limits come no sooner', (kind) => {
  const { said, held, sooner, ...rest } = measure(kind)
  const all = JSON.stringify({ kind, said, held, sooner, ...rest })
  if (process.env.PLIMSOLL_SEED !== undefined) process.stdout.write(`${all}\n`)
  expect(said, all).toBeGreaterThan(SEEDS)
  expect(held, all).toBeGreaterThanOrEqual(0.75)
  expect(sooner, all).toBeLessThanOrEqual(0.1)
})

test.each([
  ['steady', 0.1, 0.8],
  ['accelerating', 0.1, 1.2],
  ['faster since', 0.2, 1],
  ['on weekdays', 0.2, 1.4],
  ['noisy', 0.25, 1.6],
  ['after a pause', 0.3, 1],
])(
  'ranges of what is %s say something: of the near ones a share of %d is open, and half are no wider than %d',
  (kind, open, width) => {
    const { openNear, width: found } = measure(kind)
    expect(openNear).toBeLessThanOrEqual(open)
    expect(found).toBeLessThanOrEqual(width)
  },
)
