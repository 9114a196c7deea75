/** When nobody is to be told, by the clock on the wall somewhere: whenever that shows a time from `from` until `to`. */
export interface QuietHours {
  /** "HH:MM" */
  from: string
  /** "HH:MM", up to 24:00. At or before `from`: on the next day. */
  to: string
  /** Days on which they begin; absent: every day. */
  days?: readonly Weekday[] | undefined
  /** IANA */
  timeZone: string
}

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
export type Weekday = (typeof WEEKDAYS)[number]

const MINUTE = 60_000
const MINUTES_A_DAY = 1_440
/** What is quiet for longer is always quiet: hours come again every week. */
const FAR_MS = 8 * MINUTES_A_DAY * MINUTE

/** When the quiet time ends that `now` lies in, whatever hours it is made of; undefined where it lies in none. */
export function endOfQuietTime(hours: readonly QuietHours[], now: number): number | undefined {
  let at = now
  for (;;) {
    const ends = hours.map((one) => endOf(one, at)).filter((end) => end !== undefined)
    if (ends.length === 0) return at === now ? undefined : at
    at = Math.max(...ends)
    if (at >= now + FAR_MS) return at
  }
}

/** Whether there is no moment at which anybody would be told. */
export function isAlwaysQuiet(hours: readonly QuietHours[], now: number): boolean {
  return (endOfQuietTime(hours, now) ?? now) >= now + FAR_MS
}

/**
 * A moment up to which the hours that `now` lies in certainly last: their end, unless the clocks are changed before that.
 * Where they are, it is that change, after which one must look again.
 */
function endOf({ from, to, days, timeZone }: QuietHours, now: number): number | undefined {
  const minute = Math.floor(now / MINUTE) * MINUTE
  const { day, time, offset } = wallClock(timeZone, minute)
  const left = minutesLeft(minutesOf(from), minutesOf(to), time, (back) => isAmong(days, day - back))
  if (left === undefined) return undefined
  const end = minute + left * MINUTE
  return offsetAt(timeZone, end) === offset ? end : changeOfClocks(timeZone, minute, end)
}

/** `beginsOn(0)`: they may begin today; `beginsOn(1)`: they may have begun yesterday. */
function minutesLeft(
  from: number,
  to: number,
  time: number,
  beginsOn: (daysBack: number) => boolean,
): number | undefined {
  const overnight = to <= from
  if (time >= from && beginsOn(0) && (overnight || time < to)) return to - time + (overnight ? MINUTES_A_DAY : 0)
  return overnight && time < to && beginsOn(1) ? to - time : undefined
}

function isAmong(days: readonly Weekday[] | undefined, day: number): boolean {
  const name = WEEKDAYS[(day + 7) % 7]
  return days === undefined || (name !== undefined && days.includes(name))
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number)
  return (hours ?? 0) * 60 + (minutes ?? 0)
}

/** The first minute with another offset than at `from`; at `until` there is one. */
function changeOfClocks(timeZone: string, from: number, until: number): number {
  const before = offsetAt(timeZone, from)
  let [same, other] = [from / MINUTE, until / MINUTE]
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2)
    if (offsetAt(timeZone, middle * MINUTE) === before) same = middle
    else other = middle
  }
  return other * MINUTE
}

function offsetAt(timeZone: string, at: number): number {
  return wallClock(timeZone, at).offset
}

/** What calendar and clock show at a place: the weekday (0 = Monday), minutes since midnight, ms ahead of UTC. */
function wallClock(timeZone: string, at: number): { day: number; time: number; offset: number } {
  const parts = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts
  const asUtc = Date.UTC(year, month - 1, day, hour, minute)
  // 1970 began on a Thursday.
  const weekday = (Math.floor(asUtc / (MINUTES_A_DAY * MINUTE)) + 3) % 7
  return { day: weekday, time: hour * 60 + minute, offset: asUtc - at }
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Making one takes a hundred times as long as using it. */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known !== undefined) return known
  const numbers = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const
  const format = new Intl.DateTimeFormat('en-US', { ...numbers, timeZone, hourCycle: 'h23', calendar: 'gregory' })
  formats.set(timeZone, format)
  return format
}
