import * as z from 'zod'
import type { AlertPlace } from '../../../views/find-alerts.ts'
import { oneOf } from '../../query.ts'

/** A field that a form sent empty is one that was not filled in. */
function optional<T extends z.ZodType>(schema: T) {
  return z.preprocess((given) => (given === '' ? undefined : given), schema.optional())
}

const PLACE = /^([01])-([01])-(\d{1,15})-(\d{1,15})-([0-9a-f]{16})$/

/** What of the open alerts the page shows. */
export const ALERT_QUERY = z.object({
  level: optional(oneOf(['warning', 'critical'])),
  kind: optional(oneOf(['limit', 'token', 'poll', 'fleet', 'delivery'])),
  account: optional(z.string('must be given once').trim().max(120, 'is longer than 120 characters')),
  mark: optional(oneOf(['told', 'acknowledged', 'silenced'])),
  after: optional(z.string('must be given once').regex(PLACE, 'is no place in this list')),
})
export type AlertQuery = z.output<typeof ALERT_QUERY>

export function placeText(place: AlertPlace): string {
  return place.join('-')
}

export function readPlace(text: string | undefined): AlertPlace | undefined {
  const [, critical, fleet, percent, since, id] = PLACE.exec(text ?? '') ?? []
  if (id === undefined) return undefined
  return [critical === '1' ? 1 : 0, fleet === '1' ? 1 : 0, Number(percent), Number(since), id]
}
