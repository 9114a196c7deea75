import type { AssociationReport } from '../provider/answers.ts'
import type { ProviderFailure } from '../provider/failure.ts'
import { isFailure, type Readings } from './readings.ts'
import { seriesId } from './series.ts'

/** Half a point: rounding to whole numbers disagrees by no more. */
const TOLERANCE = 0.5

/** The percentage that the provider reports, by series, where it does. Nothing is decided by it. */
export function reportedPercents(readings: Readings): Map<string, number> {
  return new Map(
    ofCustomProperties(readings).flatMap(({ id, reported }) => (reported === undefined ? [] : [[id, reported]])),
  )
}

/**
 * The first number whose reported percentage disagrees with usage and limit, or undefined; `pairs` are the reports of
 * records that this poll read. Its unit is not given by the interface, so nothing is decided by it; but an operator who sees it
 * elsewhere should learn once that it differs.
 */
export function disagreeingPercentage(readings: Readings, pairs: PairReports): string | undefined {
  const found = [...ofCustomProperties(readings), ...ofRecords(pairs)].find(
    ({ usage, limit, reported }) =>
      reported !== undefined && limit > 0 && Math.abs((usage * 100) / limit - reported) > TOLERANCE,
  )
  return found === undefined
    ? undefined
    : `${found.name}: ${found.usage} of ${found.limit} is reported as ${found.reported}`
}

/** By `from/to`. */
type PairReports = ReadonlyMap<string, AssociationReport | ProviderFailure>

interface ReportedNumber {
  name: string
  usage: number
  limit: number
  reported: number | undefined
}

function ofCustomProperties({ customProperties }: Readings): (ReportedNumber & { id: string })[] {
  if (customProperties === undefined) return []
  const { overallUsage: usage, overallLimit: limit, reportedPercentage, byObjectType } = customProperties.report
  return [
    { id: 'overall', name: 'overall', usage, limit, reported: reportedPercentage },
    ...byObjectType.map(({ objectTypeId, usage, limit, reportedPercentage: reported }) => {
      const id = seriesId({ metric: 'customProperties.objectType', objectTypeId })
      return { id, name: objectTypeId, usage, limit, reported }
    }),
  ]
}

function ofRecords(pairs: PairReports): ReportedNumber[] {
  return [...pairs].flatMap(([pair, report]) =>
    isFailure(report)
      ? []
      : report.nearLimit.map(({ usage, reportedPercentage: reported }) => {
          return { name: `a record of ${pair}`, usage, limit: report.limit, reported }
        }),
  )
}
