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
export interface Prediction {
  /** Moment at which the usage was read that it counts from, ms. */
  at: number
  limit: number
  /** Whole days after that, as people read them: not before the one, nor after the other; null: or never. */
  earliest: number
  latest: number | null
}

/** `open`: no last day was named, and it was not reached within `UPCOMING_DAYS`: neither right nor wrong. */
export const OUTCOMES = ['held', 'later', 'sooner', 'open'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** The series of a prediction by now. */
interface Development {
  limit: number | null
  /** Moment at which usage was first read at the forecast limit, ms; undefined: not since. */
  reachedAt: number | undefined
  /** Moment of the last reading, ms. */
  readAt: number
}

/** `later` also stands for never. A limit that was moved before it was reached ends a prediction: 'void'. */
export function judge(prediction: Prediction, { limit, reachedAt, readAt }: Development): Outcome | 'pending' | 'void' {
  const { at, earliest, latest } = prediction
  const end = at + (latest ?? UPCOMING_DAYS) * DAY_MS
  if (reachedAt !== undefined) {
    if (reachedAt < at + earliest * DAY_MS) return 'sooner'
    return latest !== null && reachedAt > end ? 'later' : 'held'
  }
  if (limit !== prediction.limit) return 'void'
  if (readAt <= end) return 'pending'
  return latest === null ? 'open' : 'later'
}

export type Predictions = Readonly<Record<string, Prediction>>

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
 * what later forecasts name is not on record.
 */
export function followPredictions(before: Predictions, account: AccountNow): { open: Predictions; ended: Outcome[] } {
  const { readings, snapshots, rising, now } = account
  const series = seriesById(readings)
  const open: Record<string, Prediction> = {}
  const ended: Outcome[] = []
  for (const [id, prediction] of Object.entries(before)) {
    const one = series.get(id)
    const read = one && readAt(one, readings)
    if (one === undefined || read === undefined || now - read > UNREAD_MS) continue
    const outcome = judge(prediction, { ...one, reachedAt: reachedAt(id, prediction, snapshots), readAt: read })
    if (outcome === 'pending') open[id] = prediction
    else if (outcome !== 'void') ended.push(outcome)
  }
  for (const [id, pace] of Object.entries(rising)) {
    const one = series.get(id)
    const at = one && readAt(one, readings)
    if (open[id] !== undefined || one?.limit == null || at === undefined) continue
    const left = daysLeft(one.usage, one.limit, pace)
    if (typeof left !== 'object' || left.days <= 0 || left.days > UPCOMING_DAYS) continue
    // A range that is exact to the minute may be missed by a minute.
    const [earliest, latest] = [Math.max(0, Math.ceil(left.earliest) - 1), left.latest && Math.floor(left.latest) + 1]
    open[id] = { at, limit: one.limit, earliest, latest }
  }
  return { open, ended }
}

function reachedAt(id: string, { at, limit }: Prediction, snapshots: readonly Snapshot[]): number | undefined {
  const isFull = ({ series }: Snapshot) => series.some((one) => one.usage >= limit && seriesId(one) === id)
  return snapshots.find((snapshot) => snapshot.at > at && isFull(snapshot))?.at
}

/** In few words, for the account's forecasts. */
export function encodePredictions(predictions: Predictions): unknown[] {
  return Object.entries(predictions).map(([id, { at, limit, earliest, latest }]) => [id, at, limit, earliest, latest])
}

/** Unreadable predictions count as none. */
export function decodePredictions(stored: unknown): Predictions {
  const rows = Array.isArray(stored) ? stored.filter(Array.isArray) : []
  const read = rows.flatMap(([id, at, limit, earliest, latest]) => {
    const isRead = typeof id === 'string' && [at, limit, earliest, latest ?? 0].every(Number.isFinite)
    return isRead ? [[id, { at, limit, earliest, latest: latest ?? null }] as const] : []
  })
  return Object.fromEntries(read)
}
