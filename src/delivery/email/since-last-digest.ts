import type { Alert, Message } from '../../alerts/alert.ts'
import { compareStanding } from '../../alerts/alert.ts'

export type SinceLast = 'new' | 'worse' | 'better'

/** How an alert of a digest moved since the one before; nothing where it did not, or where there was none before. */
export function sinceLastDigest(alert: Alert, { changes }: Message['data']): SinceLast | undefined {
  if (changes === undefined) return undefined
  const { previous } = alert
  if (previous === undefined) return 'new'
  const is = compareStanding(previous, alert)
  return is === 'same' ? undefined : is
}
