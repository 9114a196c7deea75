import { HORIZON_DAYS, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { type AccountForecasts, forecastSeries, UTC_DAY_MS } from '../../../src/limits/forecast/forecast-account.ts'
import { type Outlook, outlookOf } from '../../../src/limits/forecast/outlook.ts'
import type { Series } from '../../../src/limits/series.ts'
import { DAY } from './days.ts'
import type { Shape } from './shapes.ts'

/** What was said on one day, and what came true: days until the series has its limit of that day, infinite if never. */
interface Said {
  day: number
  outlook: Outlook
  truth: number
  isRight: boolean
}

type Movement = Omit<Shape, 'name' | 'expected'>

/** What is told of a shape on each day after the change, from what is known on it. */
export function runShape(shape: Movement): Said[] {
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
export function outcomeOf(said: readonly Said[]): Shape['expected'] {
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
