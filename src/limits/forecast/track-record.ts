import type { Store } from '../../redis/connect.ts'
import { addToDay, readDays } from '../../redis/day-counts.ts'
import type { Keys } from '../../redis/keys.ts'
import { OUTCOMES, type Outcome } from './predictions.ts'

/** How far back outcomes are counted. */
export const RECORD_DAYS = 30

/** Predictions that ended within `RECORD_DAYS`, by how. */
export type TrackRecord = Readonly<Record<Outcome, number>>

const countsOf = ({ dayCounts: key }: Keys) => ({ key, names: OUTCOMES, days: RECORD_DAYS })

/** Adds to the counts of today. Nothing is sent where no prediction ended. */
export async function countOutcomes(store: Store, keys: Keys, ended: readonly Outcome[], now: number): Promise<void> {
  const counts = OUTCOMES.map((outcome) => [outcome, ended.filter((one) => one === outcome).length])
  if (ended.length > 0) await addToDay(store, countsOf(keys), Object.fromEntries(counts), now)
}

export async function readTrackRecord(store: Store, keys: Keys, now: number): Promise<TrackRecord> {
  return (await readDays(store, countsOf(keys), now)).sums
}
