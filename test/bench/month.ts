import { changeBetween } from '../../src/limits/history/change.ts'
import { encodeChange } from '../../src/limits/history/packed.ts'
import { type Fetched, mergeReadings, type Readings } from '../../src/limits/readings.ts'
import { type Series, seriesById, seriesId, seriesOf } from '../../src/limits/series.ts'
import type { BenchAccount } from './accounts.ts'
import { fetchedOf } from './accounts.ts'
import { dice, type Roll } from './dice.ts'

const DAYS = 30
const EVERY_MS = 15 * 60_000
export const POLLS = (DAYS * 86_400_000) / EVERY_MS
/** Of 100 polls, so many find something changed. */
const CHANGED = 10
const MOST_SERIES = 3
/** What a month of polls leaves of one account, and what some of them reported. */
export interface Month {
  /** The last poll: it found nothing new. */
  last: Fetched
  readings: Readings
  /** Of the history, oldest first: as the commit step gets them. */
  records: Buffer[]
  /** What was reported, from each change on; see `plain`. */
  reported: { at: number; series: string }[]
}

/** All numbers of a report as one text. */
export function plain(series: readonly Omit<Series, 'id'>[]): string {
  return series
    .map((one) => `${seriesId(one)} ${one.usage} ${one.limit} ${one.percent}`)
    .sort()
    .join('\n')
}

/** When the nth poll of a month was. */
export function pollAt(from: number, n: number): number {
  return from + n * EVERY_MS
}

/**
 * An account polled every 15 minutes for 30 days: one poll in ten finds one to three series changed, mostly by little; now
 * and then it is a limit, or an object type that goes or comes back.
 */
export function monthOf(account: BenchAccount, from: number): Month {
  const roll = dice(account.hubId)
  const report = fetchedOf(account, from)
  const records: Buffer[] = []
  const reported: Month['reported'] = []
  let readings: Readings | undefined
  for (let n = 0; n < POLLS; n++) {
    const at = pollAt(from, n)
    if (readings !== undefined && roll(100) >= CHANGED) continue
    if (readings !== undefined) move(report, roll)
    // The same again and again until then, read later.
    const before = readings && readAgain(readings, at - EVERY_MS)
    const after = mergeReadings(before, copyOf(report, at))
    const change = changeBetween(before, after, at, 2 * EVERY_MS)
    if (change !== undefined) records.push(encodeChange(change, seriesById(after)))
    readings = after
    reported.push({ at, series: plain(seriesOf(after)) })
  }
  const last = pollAt(from, POLLS - 1)
  return {
    last: { ...report, at: last },
    readings: readAgain(readings as Readings, last),
    records,
    reported,
  }
}

/** Reports of pairs are only counted, not kept. */
function copyOf(report: Fetched, at: number): Fetched {
  const { customProperties } = report
  if ('class' in customProperties) return { ...report, at }
  const byObjectType = customProperties.byObjectType.map((type) => ({ ...type }))
  return { ...report, at, customProperties: { ...customProperties, byObjectType } }
}

function readAgain({ customProperties, associations }: Readings, at: number): Readings {
  return {
    ...(customProperties === undefined ? {} : { customProperties: { ...customProperties, at } }),
    associations: Object.fromEntries(Object.entries(associations).map(([pair, one]) => [pair, { ...one, at }])),
  }
}

function move(report: Fetched, roll: Roll): void {
  for (let left = 1 + roll(MOST_SERIES); left > 0; left--) moveOne(report, roll)
}

function moveOne({ customProperties, associations }: Fetched, roll: Roll): void {
  if ('class' in customProperties) return
  const types = customProperties.byObjectType
  const pairs = [...associations.values()]
  const by = (1 + roll(20)) * (roll(3) === 0 ? -1 : 1)
  const which = roll(types.length + 1 + pairs.length)
  const type = types[which]
  const pair = pairs[which - types.length - 1]
  if (type !== undefined) {
    const rare = roll(200)
    if (rare === 0) types.push(...types.splice(which, 1))
    else if (rare === 1) types.splice(which, 1)
    else if (rare === 2) type.limit += 100
    else type.usage = Math.max(0, type.usage + by)
  } else if (pair !== undefined && !('class' in pair)) {
    pair.totalRecordsNearLimit = Math.max(0, pair.totalRecordsNearLimit + by)
  } else customProperties.overallUsage = Math.max(0, customProperties.overallUsage + by)
}
