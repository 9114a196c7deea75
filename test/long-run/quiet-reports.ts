/**
 * Reports of an ordinary size - 25 object types, ten records near a limit - of an account that is far from all thresholds:
 * nothing is told of it, so that what is measured is the watching.
 */
export function quietReports(): { customProperties: object; associations: object } {
  const byObjectType = Array.from({ length: 25 }, (_, n) => ({
    limit: 1_000,
    objectTypeId: `2-${10_000_000 + n}`,
    percentage: 20 + n,
    usage: 200 + 10 * n,
    pluralLabel: `Things of kind ${n}`,
    singularLabel: `Thing of kind ${n}`,
  }))
  return {
    customProperties: { byObjectType, overallLimit: 25_000, overallPercentage: 32, overallUsage: 8_000 },
    associations: {
      limit: 10_000,
      totalRecordsAtLimit: 0,
      totalRecordsNearLimit: 10,
      atLimitFromRecordSamples: [],
      nearLimitFromRecordSamples: Array.from({ length: 10 }, (_, n) => ({
        label: `The record ${n} of somebody`,
        objectId: 40_000_000_000 + n,
        percentage: 80 + n / 10,
        usage: 8_000 + 10 * n,
      })),
    },
  }
}
