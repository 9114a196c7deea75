import type { KnownPoll, Timeline } from '../../limits/history/timeline.ts'

/**
 * The first poll of an account at or after a moment, as far as its history tells. A poll that saw a change, or ended a gap,
 * is known. Those between two of them left no trace: they are taken to have come every `periodMs`. None within a gap, and
 * none after the last reading.
 */
export function nextPoll({ polls, readAt }: Timeline, periodMs: number, moment: number): number | undefined {
  const last = lastAtOrBefore(polls, moment)
  const before = polls[last]
  const after = polls[last + 1]
  if (before === undefined) return after?.at ?? (readAt >= moment ? readAt : undefined)
  const regular = before.at + Math.ceil((moment - before.at) / periodMs) * periodMs
  const until = after === undefined ? readAt : (after.missingSince ?? after.at)
  if (regular <= until) return regular
  return until >= moment ? until : after?.at
}

function lastAtOrBefore(polls: readonly KnownPoll[], moment: number): number {
  let low = 0
  let high = polls.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((polls[middle]?.at ?? 0) <= moment) low = middle + 1
    else high = middle
  }
  return low - 1
}
