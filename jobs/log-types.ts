import type { Readings } from '../src/limits/readings.ts'
import { seriesOf } from '../src/limits/series.ts'
import { typeChanges } from '../src/limits/type-changes.ts'
import type { LogCode } from '../src/runtime/log-codes.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { cleanText } from '../src/text/clean-text.ts'

/** Of one poll, each way: an account that brings hundreds at once must not fill the log. */
const MOST_LINES = 10

/** Object types that came or went are no growth, and no alert: the log and the history have them. */
export function logTypes(log: Logger, hubId: number, before: Readings | undefined, after: Readings): void {
  if (before === undefined) return
  const { appeared, disappeared } = typeChanges(seriesOf(before), seriesOf(after))
  const say = (code: LogCode, types: string[], what: string) => {
    for (const type of types.slice(0, MOST_LINES)) {
      log.info({ code, hubId, objectTypeId: cleanText(type, 60), inAll: types.length }, what)
    }
  }
  say('poll.type-appeared', appeared, 'an object type appeared')
  say('poll.type-disappeared', disappeared, 'an object type disappeared')
}
