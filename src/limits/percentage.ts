import { type Fetched, isFailure, type Readings, wordsOfKey } from './readings.ts'
import { seriesId } from './series.ts'

/** Half a point: rounding to whole numbers disagrees by no more. */
const TOLERANCE = 0.5

/** The percentage that the provider reports, by series, where it does. Nothing is decided by it. */
export function reportedPercents(readings: Readings): Map<string, number> {
  return new Map(
    ofValues(readings).flatMap(({ name, reported }) => (reported === undefined ? [] : [[name, reported] as const])),
  )
}

/**
 * The first number whose reported percentage disagrees with usage and limit, or undefined. Its unit is not given by the
 * interface, so nothing is decided by it; but an operator who sees it elsewhere should learn once that it differs.
 */
export function disagreeingPercentage(readings: Readings, fetched: Pick<Fetched, 'reports'>): string | undefined {
  const found = [...ofValues(readings), ...ofRecords(fetched)].find(
    ({ usage, limit, reported }) =>
      reported !== undefined && limit > 0 && Math.abs((usage * 100) / limit - reported) > TOLERANCE,
  )
  return found === undefined
    ? undefined
    : `${found.name}: ${found.usage} of ${found.limit} is reported as ${found.reported}`
}

interface ReportedNumber {
  name: string
  usage: number
  limit: number
  reported?: number | undefined
}

function ofValues(readings: Readings): ReportedNumber[] {
  return Object.values(readings).flatMap(({ values }) =>
    values.map(({ usage, limit, reported, ...name }) => ({ name: seriesId(name), usage, limit, reported })),
  )
}

function ofRecords({ reports }: Pick<Fetched, 'reports'>): ReportedNumber[] {
  return [...reports].flatMap(([key, report]) => {
    if (isFailure(report) || report.records === undefined) return []
    const limit = report.values.reduce((most, value) => Math.max(most, value.limit), 0)
    return report.records.nearLimit.map(({ usage = 0, reported }) => {
      return { name: `a record of ${wordsOfKey(key)}`, usage, limit, reported }
    })
  })
}
