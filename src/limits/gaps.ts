import type { ReportGaps } from '../provider/report-gaps.ts'
import { type Fetched, isFailure } from './readings.ts'

/** Of the reports with gaps: an account may have hundreds of pairs, and one odd answer is mostly odd in all. */
const MOST_REPORTS = 10

/** What is known from now on: of a report that was not read now, what was known of it before. */
export function gapsAfter(before: ReportGaps, { customProperties, associations }: Fetched): ReportGaps {
  const gaps: Record<string, readonly string[]> = {}
  for (const [name, report] of [['custom properties', customProperties] as const, ...associations]) {
    const found = isFailure(report) ? before[name] : report.gaps
    if (found !== undefined && Object.keys(gaps).length < MOST_REPORTS) gaps[name] = found
  }
  return gaps
}

/** How many of these reports have gaps. */
export function reportsWithGaps({ customProperties, associations }: Fetched): number {
  const reports = [customProperties, ...associations.values()]
  return reports.filter((report) => !isFailure(report) && report.gaps !== undefined).length
}
