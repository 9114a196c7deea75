import { objectType, typesOfHub } from '../object-types.ts'
import { type AccountMoment, blend, percentage, progressOf, seeded } from '../scenario.ts'
import { type ServedCount, servedCounts } from './served-report.ts'
import { countsByType, writtenOverall } from './written-counts.ts'

const OVERALL_LIMIT = 10_000
const TYPE_LIMIT = 1_000

export const servedCustomProperties = servedCounts({
  name: 'customProperties',
  path: '/custom-properties',
  counts,
  written: (all, { hubId }) => ({
    ...writtenOverall(all),
    byObjectType: countsByType(all).map(({ key, usage, limit = 0 }) => ({
      limit,
      ...objectType(hubId, key),
      percentage: percentage(usage, limit),
      usage,
    })),
  }),
})

function counts(moment: AccountMoment): ServedCount[] {
  const { hubId } = moment
  const progress = progressOf(moment, 'properties')
  const types = typesOfHub(hubId).map(({ objectTypeId }, place) => {
    const start = seeded(0.08, 0.42, hubId, `type ${place}`)
    // One standard and one custom type fill up with the account: the others have their own lives.
    const share = place === 0 ? blend(start, 0.985, progress) : place === 4 ? blend(start, 0.997, progress) : start
    return { key: objectTypeId, usage: Math.round(share * TYPE_LIMIT), limit: TYPE_LIMIT }
  })
  const start = seeded(0.42, 0.68, hubId, 'overall')
  const share = blend(start, seeded(0.965, 0.992, hubId, 'peak'), progress)
  return [{ key: 'overall', usage: Math.round(share * OVERALL_LIMIT), limit: OVERALL_LIMIT }, ...types]
}
