import { type Readings, readAt } from '../readings.ts'
import { type Series, seriesById } from '../series.ts'

const DAY_MS = 86_400_000

/** How fast the usage of each series moves, per day, from one reading of it to the next. */
export type Growth = ReadonlyMap<string, number>

/**
 * Growth between two polls: of usage alone, because a limit that moved is not growth. A series that was not read anew is
 * left out, and so is a record that came into sight: below 80 % there is nothing to see, and 0 stands for that.
 */
export function growthBetween(before: Readings, after: Readings, all: readonly Series[]): Growth {
  const old = seriesById(before)
  const growth = new Map<string, number>()
  for (const series of all) {
    const was = old.get(series.id)
    const from = readAt(series, before)
    const to = readAt(series, after)
    if (was === undefined || from === undefined || to === undefined || to <= from) continue
    if (series.metric === 'associations.fullest' && was.usage === 0) continue
    growth.set(series.id, ((series.usage - was.usage) * DAY_MS) / (to - from))
  }
  return growth
}
