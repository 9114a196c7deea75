import type { AlertKind, AlertLevel } from './alert.ts'

/** What the place of an alert in a list depends on; what is not known of it is left out. */
export interface Ranked {
  status?: 'firing' | 'resolved'
  kind: AlertKind
  level: AlertLevel
  series?: { metric: string }
  usage?: number
  percent?: number
  daysLeft?: number
}

/** By what happens if no one acts: all tokens end, one account's token ends, no alert arrives, limits go unread, a limit is reached. */
const KINDS: readonly AlertKind[] = ['fleet', 'token', 'delivery', 'poll', 'limit', 'limit-changed', 'test']

/** Compared number by number; less is worse. */
export type Rank = readonly [kind: number, level: number, daysLeft: number, percent: number, usage: number]

/** Alerts without a forecast come after those with one, and before none. */
const NO_FORECAST = 99_999

/** What is fuller is as bad: the number stays one that a cursor can carry. */
const MOST_PERCENT = 1_000_000

export function rankOf(alert: Ranked): Rank {
  const { kind, level, percent = 0, usage = 0 } = alert
  return [
    KINDS.indexOf(kind),
    level === 'critical' ? 0 : 1,
    daysUntilFull(alert),
    -Math.round(Math.min(percent, MOST_PERCENT) * 100),
    -usage,
  ]
}

/** A count of records at their limit, and what is not about a number, needs no forecast: it has happened. */
function daysUntilFull({ series, percent, daysLeft }: Ranked): number {
  const isFull = series === undefined || series.metric === 'associations.atLimit' || (percent ?? 0) >= 100
  return isFull ? 0 : Math.min(daysLeft ?? NO_FORECAST, NO_FORECAST)
}

export function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, n) => value !== b[n])
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** For `sort`: the one order of alerts, on pages, in lists, mails and digests. What is resolved comes last. */
export function byConsequence(a: Ranked, b: Ranked): number {
  return Number(a.status === 'resolved') - Number(b.status === 'resolved') || compareRanks(rankOf(a), rankOf(b))
}
