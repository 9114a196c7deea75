const HOUR = 3_600_000
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

const STEPS = [HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY]
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Whole hours, days, weeks or months (UTC) between two moments, at most about `wanted`. */
export function timeTicks(from: number, to: number, wanted = 6): Tick[] {
  const step = STEPS.find((ms) => (to - from) / ms <= wanted)
  return step === undefined ? monthTicks(from, to, wanted) : evenTicks(from, to, step)
}

function evenTicks(from: number, to: number, step: number): Tick[] {
  const ticks: Tick[] = []
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) {
    ticks.push({ at, label: step < DAY && at % DAY !== 0 ? hourOf(at) : dayOf(at) })
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

function hourOf(at: number): string {
  return new Date(at).toISOString().slice(11, 16)
}

/** `14 Nov`. */
export function dayOf(at: number): string {
  const date = new Date(at)
  return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]}`
}
