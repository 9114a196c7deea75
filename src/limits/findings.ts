import { type Change, changeBetween } from './history/change.ts'
import { encodeReadings } from './history/packed-readings.ts'
import { encodeChange } from './history/stored-changes.ts'
import { type Fetched, mergeReadings, type Readings, readAt } from './readings.ts'
import { isHidden, type Series, seriesById, seriesOf } from './series.ts'

/** The writes of a poll: its readings, and the record of the changes that it found. */
export interface PackedPoll {
  readings: Buffer
  /** Undefined where nothing changed. */
  record: string | undefined
}

export function packPoll(readings: Readings, change: Change | undefined): PackedPoll {
  return { readings: encodeReadings(readings), record: change && encodeChange(change) }
}

/** Readings of a poll, beside those of before. */
export interface Findings {
  before: Readings | undefined
  after: Readings
  change: Change | undefined
  packed: PackedPoll
}

export function findingsOf(
  { readings: before }: { readings: Readings | undefined },
  fetched: Fetched,
  gapMs: number,
): Findings {
  const after = mergeReadings(before, fetched)
  const change = changeBetween(before, after, fetched.at, gapMs)
  return { before, after, change, packed: packPoll(after, change) }
}

const DAY_MS = 86_400_000

/** How fast the usage of each series moves, per day, from one reading of it to the next. */
export type Growth = ReadonlyMap<string, number>

/**
 * Growth between two polls: of usage alone, because a limit that moved is not growth. A series that was not read anew is
 * left out, and so is one that came into sight: below the share from which the provider shows it 0 stands for anything.
 */
export function growthBetween(before: Readings, after: Readings, all: readonly Series[]): Growth {
  const old = seriesById(before)
  const growth = new Map<string, number>()
  for (const series of all) {
    const was = old.get(series.id)
    const from = readAt(series, before)
    const to = readAt(series, after)
    if (was === undefined || from === undefined || to === undefined || to <= from) continue
    if (isHidden(was)) continue
    growth.set(series.id, ((series.usage - was.usage) * DAY_MS) / (to - from))
  }
  return growth
}

/** Findings of a poll that may bring a threshold nearer. */
export interface FoundSeries {
  series: readonly Series[]
  growth: Growth
  isFirst: boolean
}

const NO_GROWTH: Growth = new Map()

/** Findings of a poll without any change, and with nothing near a threshold. */
export const NOTHING_NEW: FoundSeries = { series: [], growth: NO_GROWTH, isFirst: false }

/**
 * The series after a poll that matter for planning the next one, and how they moved since the one before. `moved`: only these;
 * the others are unchanged and near no threshold.
 */
export function foundSeries(before: Readings | undefined, after: Readings, moved?: ReadonlySet<string>): FoundSeries {
  const series = moved === undefined ? seriesOf(after) : seriesOf(after).filter(({ id }) => moved.has(id))
  if (before === undefined) return { series, growth: NO_GROWTH, isFirst: true }
  return { series, growth: growthBetween(before, after, series), isFirst: false }
}
