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

const KINDS: Record<string, (roll: Roll, days: number) => Made> = {
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

export interface Coverage {
  kind: string
  histories: number
  /** Of how many an end was told, and how often the truth was in the range, came before it, came after it. */
  told: number
  inside: number
  before: number
  after: number
}

/** How often the range that is told of a history holds what came true when that went on; one row for each kind. */
export function coverageOf(histories: number): Coverage[] {
  const rows = Object.keys(KINDS).map((kind) => ({ kind, histories: 0, told: 0, inside: 0, before: 0, after: 0 }))
  for (let seed = 0; seed < histories; seed++) {
    const row = rows[seed % rows.length] as Coverage
    row.histories++
    const fate = fateOf(row.kind, dice(seed * 7_919 + 17))
    if (fate === 'nothing told') continue
    row.told++
    row[fate]++
  }
  return rows
}

function fateOf(kind: string, roll: Roll): 'nothing told' | 'inside' | 'before' | 'after' {
  const days = Math.floor(between(roll, 10, 60))
  const { start, perDay, next, error } = (KINDS[kind] as (typeof KINDS)[string])(roll, days)
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
  if (typeof left === 'string') return 'nothing told'
  if (truth < left.earliest) return 'before'
  return truth <= (left.latest ?? Number.POSITIVE_INFINITY) ? 'inside' : 'after'
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
