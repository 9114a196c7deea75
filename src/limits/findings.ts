import { type Change, changeBetween } from './history/change.ts'
import { type PackedPoll, packPoll } from './history/pack-poll.ts'
import type { PollContext } from './poll-context.ts'
import { type Fetched, mergeReadings, type Readings } from './readings.ts'

/** What a poll read, beside what was known. */
export interface Findings {
  before: Readings | undefined
  after: Readings
  change: Change | undefined
  packed: PackedPoll
}

export function findingsOf({ readings: before, slots }: PollContext, fetched: Fetched, gapMs: number): Findings {
  const after = mergeReadings(before, fetched)
  const change = changeBetween(before, after, fetched.at, gapMs)
  return { before, after, change, packed: packPoll(after, slots, change) }
}
