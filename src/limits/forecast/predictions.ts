import { z } from 'zod'
import type { Store } from '../../redis/connect.ts'
import { addToDay, readDays } from '../../redis/day-counts.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Snapshot } from '../history/history.ts'
import { type Readings, readAt } from '../readings.ts'
import { seriesById, seriesId } from '../series.ts'
import { daysLeft, type Forecast } from './forecast.ts'

/** Limits that are at most so many days ahead are listed as upcoming, and what is foretold of them goes on record. */
export const UPCOMING_DAYS = 30

const DAY_MS = 86_400_000
/** After a longer gap it is not known when a limit was reached: a prediction is then dropped, and not judged. */
const UNREAD_MS = 3 * DAY_MS

/** The forecast of a series when it first came so near: it reaches `limit` within that range of days. */
export const Prediction = z.object({
  /** Moment at which the usage was read that it counts from, ms. */
  at: z.number(),
  limit: z.number(),
  /** Whole days after that, as people read them: not before the one, nor after the other; null: or never. */
  earliest: z.number(),
  latest: z.number().nullable(),
})
export type Prediction = z.infer<typeof Prediction>

/** `open`: no last day was named, and it was not reached within `UPCOMING_DAYS`: neither right nor wrong. */
export const OUTCOMES = ['held', 'later', 'sooner', 'open'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** An account when its forecasts are made anew. */
interface AccountNow {
  readings: Readings
  /** Since any prediction that is kept, or for as long as the days of a forecast. */
  snapshots: readonly Snapshot[]
  rising: Readonly<Record<string, Forecast>>
  now: number
}

/**
 * Predictions that are on record from now on, by series, and how the others ended. A series has one at a time: while it is open,
 * what later forecasts name is not on record. A limit that was moved before it was reached ends it without an outcome.
 */
export function followPredictions(before: Readonly<Record<string, Prediction>>, account: AccountNow) {
  const { readings, snapshots, rising, now } = account
  const open: Record<string, Prediction> = {}
  const ended: Outcome[] = []
  for (const [id, { limit, ...series }] of seriesById(readings)) {
    const at = readAt(series, readings)
    if (at === undefined || limit === null || now - at > UNREAD_MS) continue
    const said = before[id]
    const reached = said && reachedAt(id, said, snapshots)
    if (said !== undefined && (reached !== undefined || said.limit === limit)) {
      const outcome = outcomeOf(said, reached, at)
      if (outcome === 'pending') open[id] = said
      else ended.push(outcome)
    }
    const left = rising[id] && daysLeft(series.usage, limit, rising[id])
    if (open[id] !== undefined || left === undefined || left.days <= 0 || left.days > UPCOMING_DAYS) continue
    // A range that is exact to the minute may be missed by a minute.
    const [earliest, latest] = [Math.max(0, Math.ceil(left.earliest) - 1), left.latest && Math.floor(left.latest) + 1]
    open[id] = { at, limit, earliest, latest }
  }
  return { open, ended }
}

/** The moment at which usage was first read at the forecast limit, ms; undefined: not since. */
function reachedAt(id: string, { at, limit }: Prediction, snapshots: readonly Snapshot[]): number | undefined {
  const isFull = ({ series }: Snapshot) => series.some((one) => one.usage >= limit && seriesId(one) === id)
  return snapshots.find((snapshot) => snapshot.at > at && isFull(snapshot))?.at
}

/** `later` also stands for never. Time goes by what was read, not by the clock. */
function outcomeOf(
  { at, earliest, latest }: Prediction,
  reached: number | undefined,
  readAt: number,
): Outcome | 'pending' {
  const end = at + (latest ?? UPCOMING_DAYS) * DAY_MS
  if (reached !== undefined && reached < at + earliest * DAY_MS) return 'sooner'
  if (reached !== undefined && (latest === null || reached <= end)) return 'held'
  if (reached === undefined && readAt <= end) return 'pending'
  return latest === null ? 'open' : 'later'
}

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
