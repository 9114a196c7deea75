const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const ONE_DECIMAL = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })

/** `1,000`. */
export function formatCount(count: number): string {
  return WHOLE.format(count)
}

/** `96 %`, `99.5 %`. What is below 100 never reads as 100: that would be another state. */
export function formatPercent(percent: number): string {
  const rounded = ONE_DECIMAL.format(percent)
  return `${percent < 100 && rounded === '100' ? '99.9' : rounded} %`
}

/** `1 day`, `6.5 days`. */
export function formatDays(days: number): string {
  const rounded = ONE_DECIMAL.format(days)
  return rounded === '1' ? '1 day' : `${rounded} days`
}

/** `1 alert`, `2,000 alerts`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${WHOLE.format(count)} ${count === 1 ? one : many}`
}

/** `15 s`, for a number of milliseconds; `80 ms` below a second. */
export function formatSeconds(milliseconds: number): string {
  if (milliseconds < 1000) return `${WHOLE.format(milliseconds)} ms`
  return `${ONE_DECIMAL.format(milliseconds / 1000)} s`
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A span of time in one unit: `45 s`, `12 min`, `26 h`, `9 days`. */
export function formatSpan(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 2 * MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < 2 * HOUR) return `${Math.round(ms / MINUTE)} min`
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`
  return `${Math.round(ms / DAY)} days`
}

interface DaysLeftRange {
  earliest: number
  /** Null or absent: may as well be years. */
  latest?: number | null
}

/** `about 12 days left`; never more than there are. */
export function formatDaysLeft(days: number): string {
  if (days <= 0) return 'full'
  return days < 1 ? 'less than a day left' : `about ${countOf(Math.floor(days), 'day')} left`
}

/** ` (9 to 20)`, ` (9 or more)`; nothing where the range adds nothing to the days. */
export function formatDaysRange(days: number, { earliest, latest }: DaysLeftRange): string {
  const least = formatCount(Math.floor(earliest))
  if (latest == null) return ` (${least} or more)`
  if (Math.ceil(latest) - Math.floor(earliest) <= 1 || days <= 0) return ''
  return ` (${least} to ${formatCount(Math.ceil(latest))})`
}
