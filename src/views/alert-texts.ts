import type { AlertLevel } from '../alerts/alert.ts'
import { alertText } from '../alerts/alert-title.ts'
import type { OpenAlert } from '../alerts/open-alerts.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf, daysLeftText, formatCount } from '../text/format-number.ts'
import { type AlertCounts, noAlerts } from './find-alerts.ts'

/** An account as people call it; alerts that are about no account are about all of them. */
export function accountText({ hubId, hubDomain = '' }: { hubId: number | null; hubDomain?: string }): string {
  if (hubId === null) return 'All accounts'
  return cleanText(hubDomain, 80) || `account ${hubId}`
}

/** `2 critical, 1 warning + 4 acknowledged or silenced`: nothing of what there is none of. */
export function alertCountsText({ critical, warning, handled }: AlertCounts = noAlerts()): string {
  const open = [critical > 0 ? `${formatCount(critical)} critical` : '', warning > 0 ? countOf(warning, 'warning') : '']
  return [open.filter(Boolean).join(', '), handledText({ handled })].filter(Boolean).join(' + ')
}

/** `6 acknowledged or silenced`; empty where there is none. */
export function handledText({ handled }: { handled: number }): string {
  return handled === 0 ? '' : `${formatCount(handled)} acknowledged or silenced`
}

/** `13 critical alerts`, `1 warning`. */
export function alertsText(level: AlertLevel, count: number): string {
  return countOf(count, level === 'critical' ? 'critical alert' : 'warning')
}

/** `Contacts per company: 9,990 of 10,000, 3 days left`. */
export function worstText(alert: OpenAlert): string {
  const { daysLeft } = alert
  return `${alertText(alert)}${daysLeft === undefined || daysLeft <= 0 ? '' : `, ${daysLeftText(daysLeft)}`}`
}
