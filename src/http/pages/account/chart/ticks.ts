import { localOffset } from '../../../../text/format-time.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export interface Tick {
  at: number
  label: string
}

/** Round numbers from `low` to `high`, about `wanted` of them, never between two whole ones: usage is a count. */
export function valueTicks(low: number, high: number, wanted = 4): number[] {
  const step = roundStep((high - low) / wanted)
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, n) => (first + n) * step)
}

/** 1, 2 or 5 times a power of ten, at least 1. */
export function roundStep(rough: number): number {
  if (!(rough > 1)) return 1
  const power = 10 ** Math.floor(Math.log10(rough))
  return power * ([1, 2, 5, 10].find((times) => times * power >= rough * 0.999_999) ?? 10)
}

const STEPS = [
  10_000,
  30_000,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  4 * DAY,
  7 * DAY,
  14 * DAY,
]
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Whole seconds, minutes, hours, days, weeks or months of the clock that people read, at most about `wanted`. */
export function timeTicks(from: number, to: number, wanted = 6): Tick[] {
  const offset = localOffset(from)
  const step = STEPS.find((ms) => (to - from) / ms <= wanted)
  const local = [from + offset, to + offset] as const
  const ticks = step === undefined ? monthTicks(...local, wanted) : evenTicks(...local, step)
  // The clock may be changed in between.
  return ticks
    .map(({ at, label }) => ({ at: at - localOffset(at - offset), label }))
    .filter(({ at }) => at >= from && at <= to)
}

function evenTicks(from: number, to: number, step: number): Tick[] {
  const ticks: Tick[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    const date = new Date(at)
    const isHour = step < DAY && at % DAY !== 0
    const day = `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
    ticks.push({ at, label: isHour ? date.toISOString().slice(11, step < MINUTE ? 19 : 16) : day })
  }
  return ticks
}

function monthTicks(from: number, to: number, wanted: number): Tick[] {
  const start = new Date(from)
  const months = (to - from) / (30.4 * DAY)
  const step = [1, 2, 3, 4, 6, 12].find((each) => months / each <= wanted) ?? 12
  const ticks: Tick[] = []
  for (let month = 0; ; month++) {
    const at = Date.UTC(start.getUTCFullYear(), month)
    if (at > to) return ticks
    const name = MONTHS[month % 12] ?? ''
    if (at >= from && month % step === 0) {
      ticks.push({ at, label: month % 12 === 0 ? `${name} ${new Date(at).getUTCFullYear()}` : name })
    }
  }
}
