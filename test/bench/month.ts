import { changeBetween } from '../../src/limits/history/change.ts'
import { encodeChange } from '../../src/limits/history/packed-changes.ts'
import { type Fetched, isFailure, mergeReadings, type Readings } from '../../src/limits/readings.ts'
import type { ReportedValue } from '../../src/limits/reports/report.ts'
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

/** The report goes on moving, and readings keep the numbers that they are given. */
function copyOf({ reports }: Fetched, at: number): Fetched {
  const copied = new Map(reports)
  for (const [key, report] of reports) {
    if (!isFailure(report)) copied.set(key, { ...report, values: report.values.map((value) => ({ ...value })) })
  }
  return { at, reports: copied }
}

function readAgain(readings: Readings, at: number): Readings {
  return Object.fromEntries(Object.entries(readings).map(([key, reading]) => [key, { ...reading, at }]))
}

function move({ reports }: Fetched, roll: Roll): void {
  const [properties = [], ...pairs] = [...reports.values()].map((report) =>
    isFailure(report) ? [] : (report.values as ReportedValue[]),
  )
  for (let left = 1 + roll(MOST_SERIES); left > 0; left--) moveOne(properties, pairs, roll)
}

/** Of properties the overall number stands first, then the object types; of a pair the records near the limit move. */
function moveOne(properties: ReportedValue[], pairs: readonly ReportedValue[][], roll: Roll): void {
  const types = properties.length - 1
  const by = (1 + roll(20)) * (roll(3) === 0 ? -1 : 1)
  const which = roll(types + 1 + pairs.length)
  const pair = pairs[which - types - 1]
  const value = pair === undefined ? properties[(which + 1) % (types + 1)] : pair.find(({ metric }) => metric === NEAR)
  if (value === undefined) return
  const rare = which < types ? roll(200) : undefined
  if (rare === 0) properties.push(...properties.splice(which + 1, 1))
  else if (rare === 1) properties.splice(which + 1, 1)
  else if (rare === 2) value.limit += 100
  else value.usage = Math.max(0, value.usage + by)
}

const NEAR = 'associations.nearLimit'
