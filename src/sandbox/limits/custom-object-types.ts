import { typesOfHub } from '../object-types.ts'
import { progressOf } from '../scenario.ts'
import { CUSTOM_OBJECT_SCOPES } from '../scopes.ts'
import { servedCounts } from './served-report.ts'
import { writtenSum } from './written-counts.ts'

const LIMIT = 10

export const servedCustomObjectTypes = servedCounts({
  name: 'customObjectTypes',
  path: '/custom-object-types',
  scopes: CUSTOM_OBJECT_SCOPES,
  counts: (moment) => {
    const own = typesOfHub(moment.hubId).filter(({ objectTypeId }) => objectTypeId.startsWith('2-')).length
    const usage = own + Math.round((LIMIT - own) * progressOf(moment, 'custom object types'))
    return [{ key: 'overall', usage, limit: LIMIT }]
  },
  written: (counts) => writtenSum(counts, 'overall'),
})
