import { recordOf } from '../object-types.ts'
import { type AccountMoment, blend, percentage, progressOf, seeded } from '../scenario.ts'
import type { AskedReport, ServedReport } from './served-report.ts'

/** The pairs that reports know of, with the most associations that a record may have. Every other pair is empty. */
const PAIR_LIMITS: Readonly<Record<string, number>> = {
  '0-1/0-2': 500,
  '0-2/0-1': 10_000,
  '0-1/0-3': 2_000,
  '0-3/0-1': 250,
}
const MOST_SAMPLES = 10

export const REPORTED_PAIRS: readonly (readonly [from: string, to: string])[] = Object.keys(PAIR_LIMITS).map((pair) => {
  const [from = '', to = ''] = pair.split('/')
  return [from, to]
})

export interface ServedAssociationReport {
  limit: number
  totalRecordsAtLimit: number
  totalRecordsNearLimit: number
  atLimitFromRecordSamples: { label: string; objectId: number }[]
  nearLimitFromRecordSamples: { label: string; objectId: number; percentage: number; usage: number }[]
}

export const servedAssociations: ServedReport<'associations'> = {
  name: 'associations',
  path: '/associations/records/:from/:to',
  controlPath: '/associations/:from/:to',
  // A client can ask for any pair: those without a report must not fill the memory.
  isKept: (asked) => limitOf(asked) !== undefined,
  body: associationReport,
}

function limitOf({ from, to }: AskedReport): number | undefined {
  const name = `${from}/${to}`
  return Object.hasOwn(PAIR_LIMITS, name) ? PAIR_LIMITS[name] : undefined
}

function associationReport(moment: AccountMoment, asked: AskedReport): ServedAssociationReport {
  const limit = limitOf(asked)
  if (limit === undefined) return EMPTY
  const { hubId } = moment
  const { from = '', to = '' } = asked
  const name = `${from}/${to}`
  const progress = progressOf(moment, 'associations')
  const quietly = Math.floor(seeded(-6, 10, hubId, `near ${name}`))
  // The first half of the way fills records up to near the limit, the second pushes some of them over.
  const near = Math.max(0, quietly) + Math.round(seeded(15, 212, hubId, `many ${name}`) * Math.min(1, progress * 2))
  const at = Math.round(seeded(3, 60, hubId, `at ${name}`) * Math.max(0, progress * 2 - 1))
  return {
    limit,
    totalRecordsAtLimit: at,
    totalRecordsNearLimit: near,
    atLimitFromRecordSamples: samples(at, (place) => recordOf(hubId, from, 500 + place)),
    nearLimitFromRecordSamples: samples(near, (place) => {
      const share = blend(seeded(0.8, 0.895, hubId, `share ${name} ${place}`), 0.995 - place / 100, progress)
      const usage = Math.min(limit - 1, Math.ceil(share * limit))
      return { ...recordOf(hubId, from, place), percentage: percentage(usage, limit), usage }
    }),
  }
}

const EMPTY: ServedAssociationReport = {
  limit: 0,
  totalRecordsAtLimit: 0,
  totalRecordsNearLimit: 0,
  atLimitFromRecordSamples: [],
  nearLimitFromRecordSamples: [],
}

function samples<T>(total: number, sample: (place: number) => T): T[] {
  return Array.from({ length: Math.min(total, MOST_SAMPLES) }, (_, place) => sample(place))
}
