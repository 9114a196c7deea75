import type { Alert } from '../../alerts/alert.ts'
import { countsRecords } from '../../alerts/series-name.ts'
import { formatDaysLeft, formatDaysRange } from '../../text/days-left.ts'
import { formatChange, formatCount, formatPercent } from '../../text/format-number.ts'
import { formatTime, formatTimeAndAge } from '../../text/format-time.ts'
import type { MailLinks } from './mail-links.ts'
import { percentOf } from './percent-of.ts'
import { whyNow } from './why-now.ts'

export interface Fact {
  name: string
  value: string
}

/** What stands below the bar, the most urgent first. */
export function factsOf(alert: Alert, now: number, { rule }: MailLinks): Fact[] {
  const facts: [string, string | undefined][] = [
    [alert.series !== undefined && countsRecords(alert.series) ? 'Records' : 'Usage', usageOf(alert)],
    ['Changed', changedSince(alert)],
    ['Forecast', alert.status === 'firing' ? foretoldBy(alert) : undefined],
    ['Why now', whyNow(alert, rule)],
    ...timesOf(alert, now),
  ]
  return facts.flatMap(([name, value]) => (value === undefined ? [] : [{ name, value }]))
}

function usageOf(alert: Alert): string | undefined {
  const { usage, limit } = alert
  if (usage === undefined) return undefined
  if (limit === undefined) return formatCount(usage)
  const percent = percentOf(alert)
  const share = percent === undefined ? '' : ` (${formatPercent(percent)})`
  return `${formatCount(usage)} of ${formatCount(limit)}${share}${remainingOf(alert)}`
}

function remainingOf({ remaining, usage, limit }: Alert): string {
  const left = remaining ?? (usage === undefined || limit === undefined ? undefined : limit - usage)
  if (left === undefined) return ''
  return left < 0 ? `, ${formatCount(-left)} over the limit` : `, ${formatCount(left)} left`
}

/** `+20 since 2026-11-21 09:45 UTC, then 940 of 1,000 (94 %, warning)`. */
function changedSince({ previous, usage }: Alert): string | undefined {
  if (previous === undefined) return undefined
  const at = formatTime(previous.measuredAt)
  if (previous.usage === undefined) return `${previous.level} at ${at}`
  const change = usage === undefined || usage === previous.usage ? 0 : usage - previous.usage
  const percent = percentOf(previous)
  const of = previous.limit === undefined ? '' : ` of ${formatCount(previous.limit)}`
  const share = percent === undefined ? '' : `${formatPercent(percent)}, `
  const then = `then ${formatCount(previous.usage)}${of} (${share}${previous.level})`
  return `${change === 0 ? 'unchanged' : formatChange(change)} since ${at}, ${then}`
}

function foretoldBy({ daysLeft, daysLeftRange }: Alert): string | undefined {
  if (daysLeft === undefined || daysLeft <= 0) return daysLeft === undefined ? undefined : 'full'
  const range = daysLeftRange === undefined ? '' : formatDaysRange(daysLeft, daysLeftRange)
  return `${formatDaysLeft(daysLeft)} at this pace${range}`
}

function timesOf({ since, measuredAt, series, kind }: Alert, now: number): [string, string | undefined][] {
  if (kind === 'test') return []
  return [
    ['Since', formatTimeAndAge(since, now)],
    ['Measured', series === undefined ? undefined : formatTimeAndAge(measuredAt, now)],
  ]
}
