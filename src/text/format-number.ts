let decimal: Intl.NumberFormat | undefined

/** `1,000`. Not by `Intl`, whose first use takes a third of what a bare Node takes to start. */
export function formatCount(count: number): string {
  return count.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ',')
}

function formatDecimal(number: number): string {
  if (Number.isInteger(number)) return formatCount(number)
  decimal ??= new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })
  return decimal.format(number)
}

/** `96 %`, `99.5 %`. What is below 100 never reads as 100: that would be another state. */
export function formatPercent(percent: number): string {
  const rounded = formatDecimal(percent)
  return `${percent < 100 && rounded === '100' ? '99.9' : rounded} %`
}

/** `1 day`, `6.5 days`. */
export function formatDays(days: number): string {
  const rounded = formatDecimal(days)
  return rounded === '1' ? '1 day' : `${rounded} days`
}

/** `1 alert`, `2,000 alerts`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** `15 s`, for a number of milliseconds; `80 ms` below a second. */
export function formatSeconds(milliseconds: number): string {
  if (milliseconds < 1000) return `${formatCount(milliseconds)} ms`
  return `${formatDecimal(milliseconds / 1000)} s`
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
