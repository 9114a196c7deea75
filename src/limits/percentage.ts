import { type Fetched, isFailure, type Readings, wordsOfKey } from './readings.ts'
import { seriesId } from './series.ts'

/** Half a point: rounding to whole numbers disagrees by no more. */
const TOLERANCE = 0.5

/** The percentage that the provider reports, by series, where it does. Nothing is decided by it. */
export function reportedPercents(readings: Readings): Map<string, number> {
  const values = Object.values(readings).flatMap(({ values }) => values)
  return new Map(values.flatMap((one) => (one.reported === undefined ? [] : [[seriesId(one), one.reported] as const])))
}

/**
 * The first number whose reported percentage disagrees with usage and limit, or undefined. Its unit is not given by the
 * interface, so nothing is decided by it; but an operator who sees it elsewhere should learn once that it differs.
 */
export function disagreeingPercentage(readings: Readings, fetched: Pick<Fetched, 'reports'>): string | undefined {
  for (const { values } of Object.values(readings)) {
    const found = values.find(disagrees)
    if (found !== undefined) return described(seriesId(found), found)
  }
  const found = ofRecords(fetched).find(disagrees)
  return found && described(found.name, found)
}

interface ReportedNumber {
  usage: number
  limit: number
  reported?: number | undefined
}

function disagrees({ usage, limit, reported }: ReportedNumber): boolean {
  return reported !== undefined && limit > 0 && Math.abs((usage * 100) / limit - reported) > TOLERANCE
}

function described(name: string, { usage, limit, reported }: ReportedNumber): string {
  return `${name}: ${usage} of ${limit} is reported as ${reported}`
}

function ofRecords({ reports }: Pick<Fetched, 'reports'>): (ReportedNumber & { name: string })[] {
  return [...reports].flatMap(([key, report]) => {
    if (isFailure(report) || report.records === undefined) return []
    const limit = report.values.reduce((most, value) => Math.max(most, value.limit), 0)
    return report.records.nearLimit.map(({ usage = 0, reported }) => {
      return { name: `a record of ${wordsOfKey(key)}`, usage, limit, reported }
    })
  })
}
