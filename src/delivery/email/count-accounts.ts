import type { Alert } from '../../alerts/alert.ts'

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
