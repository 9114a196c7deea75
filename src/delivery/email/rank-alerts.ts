import type { Alert } from '../../alerts/alert.ts'
import { percentOf } from './percent-of.ts'

/** The most urgent first: firing before resolved, critical before warning, then what is full soonest, then the fullest. */
export function rankAlerts(alerts: readonly Alert[]): Alert[] {
  return [...alerts].sort(
    (a, b) =>
      Number(a.status === 'resolved') - Number(b.status === 'resolved') ||
      Number(a.level === 'warning') - Number(b.level === 'warning') ||
      sooner(daysUntilFull(a), daysUntilFull(b)) ||
      (percentOf(b) ?? -1) - (percentOf(a) ?? -1) ||
      (b.usage ?? -1) - (a.usage ?? -1),
  )
}

/** What is about no number, such as a lost token, is not going to happen some day: it has happened. */
function daysUntilFull(alert: Alert): number {
  if (alert.series === undefined || alert.series.metric === 'associations.atLimit') return 0
  if ((percentOf(alert) ?? 0) >= 100) return 0
  return alert.daysLeft ?? Number.POSITIVE_INFINITY
}

function sooner(a: number, b: number): number {
  return a === b ? 0 : a - b
}

/** How many accounts the alerts are about, and how many of those are how bad: an account counts as its worst alert. */
export function countAccounts(alerts: readonly Alert[]): { accounts: number; critical: number; warning: number } {
  const critical = new Set<number>()
  const all = new Set<number>()
  for (const { account, level } of alerts) {
    if (account === undefined) continue
    all.add(account.hubId)
    if (level === 'critical') critical.add(account.hubId)
  }
  return { accounts: all.size, critical: critical.size, warning: all.size - critical.size }
}
