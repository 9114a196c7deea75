import type { AssociationReport } from '../provider/answers.ts'

/** What one report of a pair said. Its records are another matter: see samples.ts. */
export interface AssociationReading {
  /** ms */
  at: number
  limit: number
  /** Records that have reached the limit. */
  atLimit: number
  nearLimit: number
  /** Usage of the fullest record shown. */
  fullest: number
}

/** The provider shows a record as near its limit from this share on; below it there is nothing to see. */
export const NEAR_PERCENT = 80

export function associationReading(at: number, report: AssociationReport): AssociationReading {
  return {
    at,
    limit: report.limit,
    atLimit: report.totalRecordsAtLimit,
    nearLimit: report.totalRecordsNearLimit,
    fullest: fullestUsage(report),
  }
}

/**
 * Usage of the fullest record shown. A record at its limit comes without a number and counts as full; where none is
 * shown at all, every record is below 80 % and 0 stands for that.
 */
function fullestUsage(report: AssociationReport): number {
  const shown = report.nearLimit.map((record) => record.usage)
  if (report.totalRecordsAtLimit > 0) shown.push(report.limit)
  else if (report.totalRecordsNearLimit > 0 && shown.length === 0)
    shown.push(Math.ceil((report.limit * NEAR_PERCENT) / 100))
  return shown.reduce((fullest, usage) => Math.max(fullest, usage), 0)
}
