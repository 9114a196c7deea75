import type { AssociationReport, CustomPropertyReport } from '../provider/answers.ts'
import type { ProviderFailure } from '../provider/failure.ts'

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

/** The numbers of the last reports of an account that could be read, each with when. Pairs by `from/to`. */
export interface Readings {
  customProperties?: { at: number; report: CustomPropertyReport }
  associations: Record<string, AssociationReading>
}

export interface Pair {
  from: string
  to: string
}

export function pairId(pair: Pair): string {
  return `${pair.from}/${pair.to}`
}

export function pairOf(id: string): Pair {
  const [from = '', to = ''] = id.split('/')
  return { from, to }
}

/** When the report that a series comes from was read, ms; undefined: never. */
export function readAt(series: Partial<Pair>, { customProperties, associations }: Readings): number | undefined {
  const { from, to } = series
  return from === undefined ? customProperties?.at : associations[`${from}/${to}`]?.at
}

/** What one poll got, endpoint by endpoint: one that fails doesn't lose the others. */
export interface Fetched {
  at: number
  customProperties: CustomPropertyReport | ProviderFailure
  associations: Map<string, AssociationReport | ProviderFailure>
}

export function isFailure(report: object): report is ProviderFailure {
  return 'class' in report
}

/** The reports that count from now on: the new ones, the old ones where there is none, none of pairs not watched. */
export function mergeReadings(before: Readings | undefined, fetched: Fetched): Readings {
  const { at, customProperties } = fetched
  const associations: Readings['associations'] = {}
  for (const [pair, report] of fetched.associations) {
    const old = before?.associations[pair]
    if (!isFailure(report)) associations[pair] = associationReading(at, report)
    else if (old !== undefined) associations[pair] = old
  }
  if (!isFailure(customProperties)) {
    const report = withTypesBefore(customProperties, before?.customProperties?.report)
    return { customProperties: { at, report }, associations }
  }
  return before?.customProperties === undefined
    ? { associations }
    : { customProperties: before.customProperties, associations }
}

function associationReading(at: number, report: AssociationReport): AssociationReading {
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

/** An object type that could not be read is no type that is gone: what was read of it last stays. */
function withTypesBefore(report: CustomPropertyReport, before: CustomPropertyReport | undefined): CustomPropertyReport {
  if (report.typesUnread === undefined || before === undefined) return report
  const named = new Set(report.byObjectType.map(({ objectTypeId }) => objectTypeId))
  const kept = before.byObjectType.filter(({ objectTypeId }) => !named.has(objectTypeId))
  return { ...report, byObjectType: [...report.byObjectType, ...kept] }
}

/** In place of a report: this pair is still watched, but it was not its turn, or the account was paused before. */
export const NOT_ASKED: ProviderFailure = {
  class: 'transient',
  code: 'not-asked',
  message: 'not asked for this time',
  status: 0,
}

export function failuresOf(fetched: {
  customProperties: object
  associations: Map<string, object>
}): ProviderFailure[] {
  const reports = [fetched.customProperties, ...fetched.associations.values()]
  return reports.filter((report) => isFailure(report)).filter((failure) => failure !== NOT_ASKED)
}
