import type { Alert, Message } from '../../alerts/alert.ts'
import { percentOf } from './percent-of.ts'

export type SinceLast = 'new' | 'worse' | 'better'

/** How an alert of a digest moved since the one before; nothing where it did not, or where there was none before. */
export function sinceLastDigest(alert: Alert, { changes }: Message['data']): SinceLast | undefined {
  if (changes === undefined) return undefined
  const { previous } = alert
  if (previous === undefined) return 'new'
  if (previous.level !== alert.level) return alert.level === 'critical' ? 'worse' : 'better'
  const [was, is] = [percentOf(previous), percentOf(alert)]
  if (was !== undefined && is !== undefined) return direction(is - was)
  return previous.usage === undefined || alert.usage === undefined ? undefined : direction(alert.usage - previous.usage)
}

/** Less than a point, or than a record, is no news to somebody who looks once a day. */
function direction(change: number): SinceLast | undefined {
  if (Math.abs(change) < 1 - 1e-9) return undefined
  return change > 0 ? 'worse' : 'better'
}
