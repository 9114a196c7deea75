import type { Readings } from '../src/limits/readings.ts'
import { seriesOf } from '../src/limits/series.ts'
import { typeChanges } from '../src/limits/type-changes.ts'
import { MOST_OBJECT_TYPES } from '../src/provider/bounds.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { cleanText } from '../src/text/clean-text.ts'

/** Each way: an account that brings hundreds at once must not fill the log. */
const MOST_NAMED = 10

/** Object types that came or went are no growth, and no alert: the log and the history have them. */
export function logTypes(log: Logger, hubId: number, before: Readings | undefined, after: Readings): void {
  if (before === undefined) return
  const { appeared, disappeared } = typeChanges(seriesOf(before), seriesOf(after))
  if (appeared.length + disappeared.length === 0) return
  const fields = {
    ...{ appeared: appeared.length, disappeared: disappeared.length },
    ...{ appearedIds: named(appeared), disappearedIds: named(disappeared) },
  }
  log.info({ code: 'poll.types-changed', hubId, ...fields }, 'object types appeared or disappeared')
}

function named(types: readonly string[]): string {
  return types
    .slice(0, MOST_NAMED)
    .map((type) => cleanText(type, 60))
    .join(' ')
}

/** Once, until none is left out any more. */
export function logTypesLeftOut(log: Logger, hubId: number, before: number, leftOut: number): void {
  if (before > 0 || leftOut === 0) return
  const fields = { kept: MOST_OBJECT_TYPES, leftOut }
  log.warn({ code: 'poll.types-left-out', hubId, ...fields }, 'more object types than are kept of one account')
}
