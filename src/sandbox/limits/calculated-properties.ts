import { objectType, typesOfHub } from '../object-types.ts'
import { risingUsage } from '../scenario.ts'
import { servedCounts } from './served-report.ts'
import { countsByType, sharedOut, writtenOverall } from './written-counts.ts'

const LIMIT = 200

export const servedCalculatedProperties = servedCounts({
  name: 'calculatedProperties',
  path: '/calculated-properties',
  counts: (moment) => {
    const usage = risingUsage(moment, { limit: LIMIT, what: 'calculated properties' })
    const ids = typesOfHub(moment.hubId).map(({ objectTypeId }) => objectTypeId)
    return [{ key: 'overall', usage, limit: LIMIT }, ...sharedOut(usage, ids)]
  },
  written: (counts, { hubId }) => ({
    ...writtenOverall(counts),
    byObjectType: countsByType(counts).map(({ key, usage }) => ({ ...objectType(hubId, key), usage })),
  }),
})
