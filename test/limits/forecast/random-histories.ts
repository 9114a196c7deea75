import { daysLeft, forecast, HORIZON_DAYS, WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { bell, daily, dice, happening } from './days.ts'

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
export function coverageOf(histories: number): { told: number; inside: number } {
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
