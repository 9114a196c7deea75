import { countOf, formatCount } from './format-number.ts'

export interface DaysLeftRange {
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
