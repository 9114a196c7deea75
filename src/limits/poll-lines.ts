import { MOST_OBJECT_TYPES } from '../provider/bounds.ts'
import { gapLines, type ReportGaps } from '../provider/read.ts'
import { cleanText } from '../text/clean-text.ts'
import type { LoadedAccount, PollLine } from './poll.ts'
import type { PollOutcome } from './polling/poll-outcome.ts'
import { type Readings, typesIn } from './readings.ts'

/** Calls that failed, and scopes that are newly missing. */
export function linesOfTroubles({ hubId, state }: LoadedAccount, { failures, refused }: PollOutcome): PollLine[] {
  const [failure] = failures
  const lines: PollLine[] = []
  if (failure !== undefined) {
    const { class: kind, code: reason, message } = failure
    lines.push(['warn', { code: `poll.${kind}`, hubId, reason, calls: failures.length }, message])
  }
  if (refused !== undefined && state.blocked === undefined) {
    const fields = { code: 'poll.forbidden' as const, hubId, ...refused }
    lines.push(['warn', fields, 'a scope is missing: not everything can be read'])
  }
  return lines
}

/** Each report once, until all of it is read again. */
export function linesOfGaps(hubId: number, before: ReportGaps, after: ReportGaps): PollLine[] {
  const news = Object.entries(after).filter(([report]) => before[report] === undefined)
  if (news.length === 0) return []
  const gaps = gapLines(Object.fromEntries(news))
  return [['warn', { code: 'poll.gaps', hubId, gaps }, 'read with gaps: the unreadable parts are not judged']]
}

/** Each way: an account that brings hundreds at once must not fill the log. */
const MOST_NAMED = 10

/** Object types that came or went are no growth, and no alert: the log and the history have them. */
export function linesOfTypes(hubId: number, before: Readings | undefined, after: Readings): PollLine[] {
  const { appeared, disappeared } = typeChanges(before, after)
  if (appeared.length + disappeared.length === 0) return []
  const fields = {
    appeared: appeared.length,
    disappeared: disappeared.length,
    appearedIds: named(appeared),
    disappearedIds: named(disappeared),
  }
  return [['info', { code: 'poll.types-changed', hubId, ...fields }, 'object types appeared or disappeared']]
}

/** Object types that a poll found new, and those that it missed; none at the first reading: everything would be new. */
export function typeChanges(before: Readings | undefined, after: Readings) {
  const [old, now] = [typesIn(before), typesIn(after)]
  if (old === undefined || now === undefined) return { appeared: [], disappeared: [] }
  const missing = (some: typeof now, others: typeof now) => [...some.keys()].filter((type) => !others.has(type))
  return { appeared: missing(now, old), disappeared: missing(old, now) }
}

function named(types: readonly string[]): string {
  return types
    .slice(0, MOST_NAMED)
    .map((type) => cleanText(type, 60))
    .join(' ')
}

/** Once, until none is left out any more. */
export function linesOfTypesLeftOut(hubId: number, before: number, leftOut: number): PollLine[] {
  if (before > 0 || leftOut === 0) return []
  const fields = { kept: MOST_OBJECT_TYPES, leftOut }
  return [['warn', { code: 'poll.types-left-out', hubId, ...fields }, 'more object types than are kept of one account']]
}
