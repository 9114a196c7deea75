import type { Message } from '../../alerts/alert.ts'
import { countOf, formatCount } from '../../text/format-number.ts'

/** What a daily or weekly digest says in its subject: `daily: 3 critical, 10 warning in 12 accounts`. */
export function periodicSubject({ period, totals }: Message['data']): string {
  return `${period === 'week' ? 'weekly' : 'daily'}: ${standing(totals)}`
}

/** The line above its table. */
export function periodicSummary({ period, totals, changes }: Message['data']): string {
  const since = `since the last one: ${formatCount(changes?.new ?? 0)} new, ${formatCount(changes?.worse ?? 0)} worse, ${formatCount(changes?.better ?? 0)} better, ${formatCount(changes?.resolved ?? 0)} resolved`
  return `${period === 'week' ? 'Weekly' : 'Daily'} digest: ${standing(totals)}${changes === undefined ? '' : `; ${since}`}.`
}

function standing(totals: Message['data']['totals']): string {
  const { critical = 0, warning = 0, accounts = 0 } = totals ?? {}
  if (critical + warning === 0) return 'nothing is open, all within thresholds'
  const levels = [
    critical > 0 ? `${formatCount(critical)} critical` : '',
    warning > 0 ? `${formatCount(warning)} warning` : '',
  ].filter((text) => text !== '')
  return `${levels.join(', ')}${accounts === 0 ? '' : ` in ${countOf(accounts, 'account')}`}`
}
