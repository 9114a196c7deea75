import { type Change, changeBetween } from './history/change.ts'
import { encodeReadings } from './history/kept-readings.ts'
import { encodeChange } from './history/records.ts'
import type { PollContext } from './poll-context.ts'
import { type Fetched, mergeReadings, type Readings } from './readings.ts'
import { seriesById } from './series.ts'

/** What a poll leaves in Redis: its readings, and the record of what it found changed. */
export interface PackedPoll {
  readings: Buffer
  /** Undefined where nothing changed. */
  record: Buffer | undefined
}

export function packPoll(readings: Readings, change: Change | undefined): PackedPoll {
  return { readings: encodeReadings(readings), record: change && encodeChange(change, seriesById(readings)) }
}

/** What a poll read, beside what was known. */
export interface Findings {
  before: Readings | undefined
  after: Readings
  change: Change | undefined
  packed: PackedPoll
}

export function findingsOf({ readings: before }: PollContext, fetched: Fetched, gapMs: number): Findings {
  const after = mergeReadings(before, fetched)
  const change = changeBetween(before, after, fetched.at, gapMs)
  return { before, after, change, packed: packPoll(after, change) }
}
