import type { Readings } from './readings.ts'

/** Half a point: rounding to whole numbers disagrees by no more. */
const TOLERANCE = 0.5

/**
 * The first number of a report whose `percentage` disagrees with usage and limit, or undefined. Its unit is not given by
 * the interface, so nothing is decided by it; but whoever sees it elsewhere should be told once that it differs.
 */
export function disagreeingPercentage(readings: Readings): string | undefined {
  const report = readings.customProperties?.report
  if (report === undefined) return undefined
  const numbers = [
    { name: 'overall', usage: report.overallUsage, limit: report.overallLimit, reported: report.reportedPercentage },
    ...report.byObjectType.map((type) => ({
      name: type.objectTypeId,
      usage: type.usage,
      limit: type.limit,
      reported: type.reportedPercentage,
    })),
  ]
  const found = numbers.find(
    ({ usage, limit, reported }) => limit > 0 && Math.abs((usage * 100) / limit - reported) > TOLERANCE,
  )
  return found === undefined
    ? undefined
    : `${found.name}: ${found.usage} of ${found.limit} is reported as ${found.reported}`
}
