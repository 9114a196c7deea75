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

/** A span of time in one unit, rounded: `45 s`, `1 min`, `90 s`, `12 min`, `26 h`, `9 days`. */
export function formatSpan(milliseconds: number): string {
  const [seconds, minutes, hours, days] = [SECOND, MINUTE, HOUR, DAY].map((unit) =>
    Math.round(Math.max(0, milliseconds) / unit),
  ) as [number, number, number, number]
  if (seconds < 120 && seconds !== 60) return `${seconds} s`
  if (minutes < 120 && minutes !== 60) return `${minutes} min`
  return hours < 48 ? `${hours} h` : `${days} days`
}

/** No line of a page ends between a number and its unit. */
export function keepUnits(text: string): string {
  return text.replace(/(\d) (?=%|(?:s|min|h|days?|seconds?|minutes?|hours?)\b)/g, '$1\u00a0')
}

const IN_WORDS: Readonly<Record<string, string>> = { s: 'second', min: 'minute', h: 'hour', days: 'day' }

/** The same span in words, for a sentence: `for 1 minute`, `for 23 seconds`. */
export function spanInWords(milliseconds: number): string {
  const [count, unit = ''] = formatSpan(milliseconds).split(' ')
  return countOf(Number(count), IN_WORDS[unit] ?? unit)
}

/** How far a moment is: `in 4 h`, `3 min ago`, `now`. */
export function formatDistance(milliseconds: number): string {
  const span = formatSpan(Math.abs(milliseconds))
  if (span === '0 s') return 'now'
  return milliseconds > 0 ? `in ${span}` : `${span} ago`
}

interface DaysLeftRange {
  earliest: number
  /** Null or absent: may as well be years. */
  latest?: number | null
}

/** `full`, `less than a day`, `12 days`, `12 days (9 to 20)`: never more than there are. */
export function formatDaysLeft(days: number, range?: DaysLeftRange | null): string {
  if (days <= 0) return 'full'
  const least = days < 1 ? 'less than a day' : countOf(Math.floor(days), 'day')
  return least + (range == null ? '' : formatRange(range))
}

/** In a sentence: `full`, `12 days left (9 to 20)`. */
export function daysLeftText(days: number, range?: DaysLeftRange | null): string {
  return days <= 0 ? 'full' : `${formatDaysLeft(days)} left${range == null ? '' : formatRange(range)}`
}

/** ` (9 to 20)`, ` (9 or more)`; nothing where the range adds nothing to the days. */
function formatRange({ earliest, latest }: DaysLeftRange): string {
  const least = formatCount(Math.floor(earliest))
  if (latest == null) return ` (${least} or more)`
  if (Math.ceil(latest) - Math.floor(earliest) <= 1) return ''
  return ` (${least} to ${formatCount(Math.ceil(latest))})`
}

/** The text with a capital at its start, as a title or a sentence has it. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
