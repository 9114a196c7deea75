import { MOST_OBJECT_TYPES } from '../provider/bounds.ts'
import { gapLines, type ReportGaps } from '../provider/read.ts'
import type { LoadedAccount, PollLine } from './poll.ts'
import type { PollOutcome } from './polling/poll-outcome.ts'

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

/** Once, until none is left out any more. */
export function linesOfTypesLeftOut(hubId: number, before: number, leftOut: number): PollLine[] {
  if (before > 0 || leftOut === 0) return []
  const fields = { kept: MOST_OBJECT_TYPES, leftOut }
  return [['warn', { code: 'poll.types-left-out', hubId, ...fields }, 'more object types than are kept of one account']]
}
