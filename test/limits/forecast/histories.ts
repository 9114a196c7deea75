import { HORIZON_DAYS } from '../../../src/limits/forecast/forecast.ts'
import { chance } from '../../support/dice.ts'
import { bell, happening } from './days.ts'

type Roll = () => number
/** A series over its days. */
interface Course {
  /** Added on that day, on the average. */
  perDay: (day: number) => number
  /** Added at the end of a day at once, or taken away. */
  atOnce?: (day: number, usage: number) => number
  /** The first day of which a forecast is judged: after a change that nothing announced. */
  from?: number
  /** Any of them where it is left out. */
  texture?: Texture
  /** Left out, it is what usage has reached on some day. */
  limit?: number
  /** How far the limit lies above that, as a share of all that was added until then. */
  beyond?: number
  /** What a reading errs by. */
  error?: number
}

/** How one day differs from the next: not, by a number of things, by a share, or by weekday. */
type Texture = 'exact' | 'counted' | 'uneven' | 'weekdays'

const DAYS = 500
const between = (roll: Roll, low: number, high: number) => low + (high - low) * roll()
/** As often from 1 to 10 as from 10 to 100. */
const evenly = (roll: Roll, low: number, high: number) => low * (high / low) ** roll()
const oneOf = <T>(roll: Roll, values: readonly T[]): T => values[Math.floor(roll() * values.length)] as T

const pace = (roll: Roll) => evenly(roll, 0.7, 70)

/** Kinds of histories, each with its numbers drawn anew; none of them is one that `forecast` was written for. */
export const HISTORIES: Record<string, (roll: Roll) => Course> = {
  steady: (roll) => {
    const perDay = pace(roll)
    return { perDay: () => perDay }
  },
  accelerating: (roll) => {
    const [perDay, over] = [pace(roll), evenly(roll, 15, 150)]
    const doesCompound = roll() < 0.5
    return {
      perDay: (day) => (doesCompound ? perDay * Math.exp(Math.min(day, 6 * over) / over) : perDay * (1 + day / over)),
    }
  },
  'slowing growth': (roll) => {
    const [perDay, over, power, floor] = [
      3 * pace(roll),
      evenly(roll, 7, 60),
      between(roll, 0.5, 1.5),
      between(roll, 0, 0.2),
    ]
    const doesDecay = roll() < 0.5
    const share = (day: number) =>
      doesDecay ? floor + (1 - floor) * Math.exp(-day / over) : (1 + day / over) ** -power
    return { perDay: (day) => perDay * share(day) }
  },
  'filling up to a plateau': (roll) => {
    const [plateau, over, isLogistic] = [evenly(roll, 200, 10_000), evenly(roll, 12, 100), roll() < 0.4]
    const middle = between(roll, 1, 3) * over
    const at = (day: number) =>
      isLogistic ? plateau / (1 + Math.exp((middle - day) / over)) : plateau * (1 - Math.exp(-day / over))
    return { perDay: (day) => at(day + 1) - at(day), limit: plateau * between(roll, 0.8, 1.25) }
  },
  'cleaned up now and then': (roll) => {
    const [perDay, every, share] = [pace(roll), evenly(roll, 10, 60), between(roll, 0.2, 0.95)]
    let [next, before] = [every * between(roll, 0.3, 1), 0]
    const atOnce = (day: number, usage: number) => {
      if (day < next) return 0
      next += every * between(roll, 0.6, 1.4)
      const gone = Math.round((usage - before) * Math.min(1, share * between(roll, 0.7, 1.3)))
      before = usage - gone
      return -gone
    }
    return { perDay: () => perDay, atOnce, beyond: between(roll, 0, 0.6) }
  },
  'imported weekly': (roll) => {
    const [perWeek, weekday, trickle] = [7 * pace(roll), Math.floor(roll() * 7), between(roll, 0, 0.1)]
    const spread = between(roll, 0, 0.7)
    const size = () => Math.round(perWeek * Math.exp(spread * bell(roll)))
    const atOnce = (day: number) => (day % 7 === weekday && roll() < 0.95 ? size() : 0)
    return { perDay: () => (perWeek * trickle) / 7, atOnce, texture: 'counted' }
  },
  'in batches': (roll) => {
    const [often, size, spread] = [1 / evenly(roll, 2, 12), evenly(roll, 3, 200), between(roll, 0, 0.8)]
    const batch = () => Math.max(1, Math.round(size * Math.exp(spread * bell(roll))))
    return { perDay: () => 0, atOnce: () => (roll() < often ? batch() : 0) }
  },
  'faster since': (roll) => changed(roll, (perDay) => perDay * evenly(roll, 1.5, 8)),
  'slower since': (roll) => changed(roll, (perDay) => perDay / evenly(roll, 1.5, 8)),
  noisy: (roll) => {
    const perDay = pace(roll)
    return { perDay: () => perDay, error: perDay * between(roll, 0.3, 4) }
  },
  'on weekdays': (roll) => {
    const perDay = pace(roll)
    return { perDay: () => perDay, texture: 'weekdays' }
  },
  'after a pause': (roll) => {
    const [perDay, on, days] = [pace(roll), between(roll, 15, 60), evenly(roll, 7, 50)]
    return { perDay: (day) => (day >= on && day < on + days ? 0 : perDay), from: Math.ceil(on + 3) }
  },
  'a new account': (roll) => {
    const kinds = ['steady', 'accelerating', 'slowing growth', 'in batches', 'on weekdays', 'noisy']
    return { ...(HISTORIES[oneOf(roll, kinds)] as (roll: Roll) => Course)(roll), from: -1 }
  },
}

function changed(roll: Roll, to: (perDay: number) => number): Course {
  const [before, on] = [pace(roll), Math.round(between(roll, 15, 80))]
  const since = to(before)
  return { perDay: (day) => (day < on ? before : since), from: on + 2 }
}

/** A day on which a forecast is made: what is known, and what comes true. */
export interface Vantage {
  /** At the end of each day so far. */
  usages: readonly number[]
  limit: number
  /** Days until the limit; infinite for never. */
  truth: number
}

/** Days of one history of a kind: every other one anywhere before the limit, the others within six weeks of it. */
export function vantagesOf(kind: string, seed: number, count = 4): Vantage[] {
  const roll = chance(seed * 104_729 + 31)
  const make = HISTORIES[kind] as (roll: Roll) => Course
  const course = make(roll)
  const usages = walk(course, roll)
  const isNew = course.from === -1
  const from = isNew ? 6 : Math.max(13, course.from ?? 0)
  const highest = highestUntil(usages, Math.round(between(roll, from + 3, isNew ? 60 : from + 200)))
  const limit = Math.ceil(course.limit ?? highest + (course.beyond ?? 0) * (highest - (usages[0] ?? 0)))
  const reached = usages.findIndex((usage) => usage >= limit)
  const last = isNew ? 9 : reached === -1 ? from + 150 : reached - 1
  if (last < from || reached === 0) return []
  return Array.from({ length: count }, (_, n) => {
    const anywhere = Math.floor(between(roll, from, last + 1))
    const near = reached === -1 || isNew ? anywhere : Math.max(from, Math.floor(reached - evenly(roll, 1, 45)))
    return vantage(usages, limit, Math.min(reached === -1 ? last : reached - 1, n % 2 === 0 ? anywhere : near))
  }).filter(({ truth }) => truth > 0)
}

function vantage(usages: readonly number[], limit: number, today: number): Vantage {
  const reached = usages.findIndex((usage, day) => day > today && usage >= limit)
  const [before = 0, after = 0] = [usages[reached - 1], usages[reached]]
  const truth =
    reached === -1 || reached - today > HORIZON_DAYS
      ? Number.POSITIVE_INFINITY
      : reached - 1 - today + (limit - before) / (after - before)
  return { usages: usages.slice(0, today + 1), limit, truth }
}

function highestUntil(usages: readonly number[], day: number): number {
  return Math.max(...usages.slice(0, day + 1))
}

function walk({ perDay, atOnce, texture, error = 0 }: Course, roll: Roll): number[] {
  const how = texture ?? oneOf<Texture>(roll, ['exact', 'counted', 'uneven', 'weekdays'])
  const [spread, weekend] = [between(roll, 0.2, 1), between(roll, 0, 0.3)]
  let exact = Math.floor(evenly(roll, 1, 1_000))
  return Array.from({ length: DAYS }, (_, day) => {
    exact += dayOf(how, perDay(day), { roll, spread, weekend, day })
    exact = Math.max(0, exact + (atOnce?.(day, exact) ?? 0))
    return Math.max(0, Math.round(exact + error * bell(roll)))
  })
}

function dayOf(
  how: Texture,
  mean: number,
  { roll, spread, weekend, day }: { roll: Roll; spread: number; weekend: number; day: number },
) {
  if (how === 'exact') return mean
  if (how === 'counted') return happening(roll, mean)
  if (how === 'uneven') return mean * Math.exp(spread * bell(roll) - spread ** 2 / 2)
  return happening(roll, (7 * mean * (day % 7 < 5 ? 1 : weekend)) / (5 + 2 * weekend))
}
