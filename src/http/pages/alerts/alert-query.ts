import * as z from 'zod'
import { MARKS, OPEN_KINDS, PLACE } from '../../../views/find-alerts.ts'
import { oneOf } from '../../query.ts'

/** A field that a form sent empty is one that was not filled in. */
function optional<T extends z.ZodType>(schema: T) {
  return z.preprocess((given) => (given === '' ? undefined : given), schema.optional())
}

/** What of the open alerts the page shows. */
export const ALERT_QUERY = z.object({
  level: optional(oneOf(['warning', 'critical'])),
  kind: optional(oneOf(OPEN_KINDS)),
  account: optional(z.string('must be given once').trim().max(120, 'is longer than 120 characters')),
  mark: optional(oneOf(MARKS)),
  after: optional(PLACE),
})
export type AlertQuery = z.output<typeof ALERT_QUERY>
