import { createHash } from 'node:crypto'
import { type Alert, alertOfTransition } from './alert.ts'

/** The alert's own id, without the number of the transition. */
export function alertOf({ id }: Pick<Alert, 'id'>): string {
  return alertOfTransition(id)
}

/**
 * What an alert is about, as a short word: the same for each alert that the same series opens, however often. What is not
 * about an account has no other name than its id.
 */
export function matterOf(alert: Alert): string {
  const { kind, account, series } = alert
  if (account === undefined) return alertOf(alert)
  const about = [kind, account.hubId, series?.metric, series?.objectTypeId, series?.from, series?.to]
  return createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 16)
}
