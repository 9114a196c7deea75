import { objectType } from '../object-types.ts'
import { risingUsage } from '../scenario.ts'
import { REPORTED_PAIRS } from './association-records.ts'
import { servedCounts } from './served-report.ts'
import { writtenUse } from './written-counts.ts'

const LABELS = 'Billing contact,Decision maker,Champion,Reseller,Former employer,Partner,Approver,Site owner'.split(',')

/** Most labels in an answer, however many a test sets: it stays one that can be written. */
const MOST_NAMED = 1_000

export const servedAssociationLabels = servedCounts({
  name: 'associationLabels',
  path: '/associations/labels',
  deletedForMs: 40_000,
  isKept: ({ query }) => query?.fromObjectTypeId === undefined && query?.toObjectTypeId === undefined,
  counts: (moment) =>
    REPORTED_PAIRS.map(([from, to]) => {
      const key = `${from}/${to}`
      return { key, usage: risingUsage(moment, { limit: 50, what: `labels ${key}` }), limit: 50 }
    }),
  // A direction without a label isn't listed.
  written: (counts, { hubId }, { query }) => {
    const results = counts
      .filter(({ usage }) => usage > 0)
      .map((count) => {
        const [from = '', to = ''] = count.key.split('/')
        const allLabels = Array.from({ length: Math.min(count.usage, MOST_NAMED) }, (_, place) => nameOf(place))
        return {
          fromObjectType: objectType(hubId, from),
          toObjectType: objectType(hubId, to),
          allLabels,
          ...writtenUse(count),
        }
      })
    const fits = (wanted: unknown, { objectTypeId }: { objectTypeId: string }) =>
      wanted === undefined || wanted === objectTypeId
    return {
      results: results.filter(
        ({ fromObjectType, toObjectType }) =>
          fits(query?.fromObjectTypeId, fromObjectType) && fits(query?.toObjectTypeId, toObjectType),
      ),
    }
  },
})

function nameOf(place: number): string {
  return LABELS[place] ?? `Label ${place + 1}`
}
