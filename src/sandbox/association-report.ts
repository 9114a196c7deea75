import { recordOf } from './object-types.ts'
import { type AccountMoment, blend, percentage, progressOf, seeded } from './scenario.ts'

/** The pairs that reports know of, with the most associations that a record may have. Every other pair is empty. */
const PAIR_LIMITS = new Map([
  ['0-1/0-2', 500],
  ['0-2/0-1', 10_000],
  ['0-1/0-3', 2_000],
  ['0-3/0-1', 250],
])

export const REPORTED_PAIRS: readonly string[] = [...PAIR_LIMITS.keys()]

const MOST_SAMPLES = 10

export interface AssociationReport {
  limit: number
  totalRecordsAtLimit: number
  totalRecordsNearLimit: number
  atLimitFromRecordSamples: { label: string; objectId: number }[]
  nearLimitFromRecordSamples: { label: string; objectId: number; percentage: number; usage: number }[]
}

export function associationReport(moment: AccountMoment, from: string, to: string): AssociationReport {
  const pair = `${from}/${to}`
  const limit = PAIR_LIMITS.get(pair) ?? 0
  const { at, near } = limit === 0 ? { at: 0, near: 0 } : totalsOf(moment, pair)
  const { hubId } = moment
  const progress = progressOf(moment, 'associations')
  return {
    limit,
    totalRecordsAtLimit: at,
    totalRecordsNearLimit: near,
    atLimitFromRecordSamples: samples(at, (place) => recordOf(hubId, from, 500 + place)),
    nearLimitFromRecordSamples: samples(near, (place) => {
      const share = blend(seeded(0.8, 0.895, hubId, `share ${pair} ${place}`), 0.995 - place / 100, progress)
      const usage = Math.min(limit - 1, Math.ceil(share * limit))
      return { ...recordOf(hubId, from, place), percentage: percentage(usage, limit), usage }
    }),
  }
}

/** The first half of the way fills records up to near the limit, the second pushes some of them over. */
function totalsOf(moment: AccountMoment, pair: string): { at: number; near: number } {
  const { hubId } = moment
  const progress = progressOf(moment, 'associations')
  const quietly = Math.max(0, Math.floor(seeded(-6, 10, hubId, `near ${pair}`)))
  return {
    near: quietly + Math.round(seeded(15, 212, hubId, `many ${pair}`) * Math.min(1, progress * 2)),
    at: Math.round(seeded(3, 60, hubId, `at ${pair}`) * Math.max(0, progress * 2 - 1)),
  }
}

function samples<T>(total: number, sample: (place: number) => T): T[] {
  return Array.from({ length: Math.min(total, MOST_SAMPLES) }, (_, place) => sample(place))
}
