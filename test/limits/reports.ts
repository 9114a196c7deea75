import type { Readings } from '../../src/limits/readings.ts'
import type { AssociationReport, CustomPropertyReport } from '../../src/provider/answers.ts'

export function properties(
  usage: number,
  limit = 1_000,
  types: Record<string, [number, number]> = {},
): CustomPropertyReport {
  return {
    overallLimit: limit,
    overallUsage: usage,
    reportedPercentage: 0,
    byObjectType: Object.entries(types).map(([objectTypeId, [used, allowed]]) => ({
      objectTypeId,
      singularLabel: 'Thing',
      pluralLabel: `Things of ${objectTypeId}`,
      limit: allowed,
      usage: used,
      reportedPercentage: 0,
    })),
  }
}

export function associations(
  limit: number,
  near: number[] = [],
  atLimit = 0,
  totals: Partial<AssociationReport> = {},
): AssociationReport {
  return {
    limit,
    totalRecordsAtLimit: atLimit,
    totalRecordsNearLimit: near.length,
    atLimit: Array.from({ length: atLimit }, (_, n) => ({ label: `full ${n}`, objectId: 100 + n })),
    nearLimit: near.map((usage, n) => ({ label: `near ${n}`, objectId: 200 + n, usage, reportedPercentage: 0 })),
    ...totals,
  }
}

export function readings(
  at: number,
  report: CustomPropertyReport | undefined,
  pairs: Record<string, AssociationReport> = {},
): Readings {
  return {
    ...(report === undefined ? {} : { customProperties: { at, report } }),
    associations: Object.fromEntries(Object.entries(pairs).map(([pair, one]) => [pair, { at, report: one }])),
  }
}
