import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { isOfOtherType, unlessOfOtherType } from '../../redis/other-type.ts'
import { OUTCOMES, type Outcome } from './predictions.ts'

const DAY_MS = 86_400_000
/** How far back outcomes are counted. */
export const RECORD_DAYS = 30

/** Predictions that ended within `RECORD_DAYS`, by how. */
export type TrackRecord = Readonly<Record<Outcome, number>>

/** Adds to the counts of today; those of days that are over leave. Nothing is sent where no prediction ended. */
export async function countOutcomes(
  store: Store,
  { forecastOutcomes: key }: Keys,
  outcomes: readonly Outcome[],
  now: number,
): Promise<void> {
  if (outcomes.length === 0) return
  const today = Math.floor(now / DAY_MS)
  const count = store.multi()
  for (const outcome of outcomes) count.hincrby(key, `${today}:${outcome}`, 1)
  const [error, fields] = (await count.hkeys(key).exec())?.at(-1) ?? [null, []]
  // It is not worth more than that these few counts begin anew.
  if (isOfOtherType(error)) await store.del(key)
  else if (error !== null) throw error
  const old = (fields as string[] | undefined)?.filter((field) => countedOn(field, today) === undefined) ?? []
  if (old.length > 0) await store.hdel(key, ...old)
}

export async function readTrackRecord(store: Store, keys: Keys, now: number): Promise<TrackRecord> {
  const stored = await unlessOfOtherType(store.hgetall(keys.forecastOutcomes), {})
  const record = { held: 0, later: 0, sooner: 0, open: 0 }
  for (const [field, count] of Object.entries(stored)) {
    const outcome = countedOn(field, Math.floor(now / DAY_MS))
    if (outcome !== undefined && /^\d{1,9}$/.test(count)) record[outcome] += Number(count)
  }
  return record
}

/** The outcome that a field counts; undefined for one of a day that is over, or a field that is none. */
function countedOn(field: string, today: number): Outcome | undefined {
  const [day, outcome] = field.split(':')
  const isOfTheseDays = Number(day) > today - RECORD_DAYS && Number(day) <= today + 1
  return isOfTheseDays ? OUTCOMES.find((one) => one === outcome) : undefined
}
