import type { Alert } from '../../alerts/alert.ts'
import { sayBecause } from '../../alerts/evaluation/because.ts'
import { cleanText } from '../../text/clean-text.ts'
import { countOf, formatCount, formatDays, formatPercent } from '../../text/format-number.ts'
import type { MailLinks } from './mail-links.ts'

const EITHER = new Intl.ListFormat('en', { type: 'disjunction' })

/** What decided, and which rule that was; nothing for kinds that no rule decides about. */
export function whyNow(alert: Alert, placeOf: MailLinks['rule']): string | undefined {
  const { kind, rule, reason } = alert
  if (kind === 'limit-changed') return 'told whenever the provider moves a limit'
  if (kind !== 'limit' || reason === 'uninstalled') return undefined
  const place = placeOf?.(rule)
  const name = `rule ${cleanText(rule, 80)}${place === undefined ? '' : ` (${place})`}`
  const why = alert.because === undefined ? conditionOf(alert) : sayBecause(alert.because)
  return why === undefined ? name : `${why}; ${name}`
}

/** What the level asks, where nothing says which of it holds. */
function conditionOf({ status, level, threshold }: Alert): string | undefined {
  const conditions = threshold === undefined ? [] : conditionsOf(threshold)
  if (conditions.length === 0) return undefined
  return `${status === 'resolved' ? 'no longer ' : ''}${level} ${EITHER.format(conditions)}`
}

function conditionsOf({ percent, count, remaining, daysLeft }: NonNullable<Alert['threshold']>): string[] {
  return [
    ...(percent === undefined ? [] : [`from ${formatPercent(percent)} used`]),
    ...(count === undefined ? [] : [`from ${countOf(count, 'record')}`]),
    ...(remaining === undefined ? [] : [`at ${formatCount(remaining)} left`]),
    ...(daysLeft === undefined ? [] : [`when full within ${formatDays(daysLeft)}`]),
  ]
}
