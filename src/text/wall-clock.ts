/** Calendar and clock of a time zone at a moment. */
export interface WallClock {
  /** Days since 1 January 1970, by that calendar. */
  day: number
  /** Minutes since midnight, by that clock. */
  minute: number
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

const MINUTE = 60_000
export const DAY_MS = 86_400_000

export function wallClock(timeZone: string, at: number): WallClock {
  const shown = at + offsetAt(timeZone, at)
  const day = Math.floor(shown / DAY_MS)
  return { day, minute: Math.floor((shown - day * DAY_MS) / MINUTE) }
}

/** Weekday of a day of the calendar. 1970 began on a Thursday. */
export function weekdayOf(day: number): Weekday {
  return WEEKDAYS[(((day + 3) % 7) + 7) % 7] ?? 'mon'
}

/**
 * The first moment of a day at which the clock there shows `minute` or later: of an hour that comes twice the first one, of
 * one that is left out its end. Undefined where the day itself is left out, as where the date line moves.
 */
export function firstMomentAt(timeZone: string, day: number, minute: number): number | undefined {
  const shown = day * DAY_MS + minute * MINUTE
  const [early, late] = [shown - DAY_MS, shown + DAY_MS]
  const offsets = [offsetAt(timeZone, early), offsetAt(timeZone, late)]
  for (const offset of offsets.toSorted((a, b) => b - a)) {
    if (offsetAt(timeZone, shown - offset) === offset) return shown - offset
  }
  const change = changeOfOffset(timeZone, early, late)
  return wallClock(timeZone, change).day === day ? change : undefined
}

/** The first moment, to the minute, with another offset than at `from`; at `until` there is one. */
export function changeOfOffset(timeZone: string, from: number, until: number): number {
  const before = offsetAt(timeZone, from)
  let [same, other] = [Math.floor(from / MINUTE), Math.ceil(until / MINUTE)]
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2)
    if (offsetAt(timeZone, middle * MINUTE) === before) same = middle
    else other = middle
  }
  return other * MINUTE
}

/** How far the clock there is ahead of UTC, ms. */
export function offsetAt(timeZone: string, at: number): number {
  const second = Math.floor(at / 1_000) * 1_000
  const parts = formatOf(timeZone).formatToParts(second)
  const shown = Object.fromEntries(parts.map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second: seconds = 0 } = shown
  return Date.UTC(year, month - 1, day, hour, minute, seconds) - second
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Making one takes a hundred times as long as using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const date = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
  const time = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const
  const format = new Intl.DateTimeFormat('en-US', { ...date, ...time, timeZone, calendar: 'gregory' })
  formats.set(timeZone, format)
  return format
}
