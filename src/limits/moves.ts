import type { KeptNumbers } from './history/packed-readings.ts'
import { countSlots, slotAt } from './history/slot-runs.ts'
import type { AssociationReading, Readings } from './readings.ts'
import { atLimitSeries, fullestSeries, nearLimitSeries, overallSeries, type Series, typeSeries } from './series.ts'

/** A series that a poll found at other numbers than the poll before it. */
export interface Move {
  series: Series
  was: Series
  /** By which records of the history name it. */
  slot: number
}

const SERIES_OF_PAIR = 3

/**
 * What moved between two readings with the same names, in the order of the series. Undefined where their series can't be
 * told from their places: a report names an object type twice.
 */
export function movesBetween({ readings: before, slots }: KeptNumbers, after: Readings): Move[] | undefined {
  const moves: Move[] = []
  const note = (place: number, was: Series, series: Series) => {
    moves.push({ series, was, slot: slotAt(slots, place) as number })
  }
  const [old, report] = [before.customProperties?.report, after.customProperties?.report]
  const [types, pairs] = [report?.byObjectType ?? [], Object.entries(after.associations)]
  const firstPair = report === undefined ? 0 : 1 + types.length
  const isAsBefore =
    old?.byObjectType.length === report?.byObjectType.length &&
    Object.keys(before.associations).length === pairs.length &&
    countSlots(slots) === firstPair + SERIES_OF_PAIR * pairs.length
  if (!isAsBefore) return undefined
  if (old !== undefined && report !== undefined) {
    if (old.overallUsage !== report.overallUsage || old.overallLimit !== report.overallLimit) {
      note(0, overallSeries(old), overallSeries(report))
    }
    for (const [n, type] of types.entries()) {
      const was = old.byObjectType[n] as typeof type
      if (was.usage !== type.usage || was.limit !== type.limit) note(1 + n, typeSeries(was), typeSeries(type))
    }
  }
  for (const [n, [pair, reading]] of pairs.entries()) {
    const was = before.associations[pair] as AssociationReading
    const place = firstPair + n * SERIES_OF_PAIR
    if (was.atLimit !== reading.atLimit) note(place, atLimitSeries(pair, was), atLimitSeries(pair, reading))
    if (was.nearLimit !== reading.nearLimit) {
      note(place + 1, nearLimitSeries(pair, was), nearLimitSeries(pair, reading))
    }
    if (was.fullest !== reading.fullest || was.limit !== reading.limit) {
      note(place + 2, fullestSeries(pair, was), fullestSeries(pair, reading))
    }
  }
  return moves
}
