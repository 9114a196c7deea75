import { associationReport, REPORTED_PAIRS } from './association-report.ts'
import { isCustom, objectType, typesOfHub } from './object-types.ts'
import { type AccountMoment, blend, percentage, progressOf, risingUsage, seeded } from './scenario.ts'
import { CUSTOM_OBJECT_SCOPES, type ScopeRule } from './scopes.ts'

/** A number of something in an account, with its limit where it has one of its own. */
export interface Count {
  readonly usage: number
  readonly limit?: number
}

/** Keys: an object type's id, `FROM/TO` for a pair of them, or a word for a sum. */
export type Counts = Readonly<Record<string, Count>>

/** Object types of the path. */
export interface AskedPair {
  readonly from?: string
  readonly to?: string
}

/** One limits report of the provider: a GET below each base of the limits endpoints. */
interface Report<Name extends string> {
  /** In the journal and for faults. */
  readonly name: Name
  /** Below the base; may have `:from` and `:to`. */
  readonly path: string
  /** Below an account in the control paths; without it, as `path`. */
  readonly controlPath?: string
  /** Without it: any of the scopes that the limits endpoints of this version want. */
  readonly scopes?: ScopeRule
  /** Counts that can be set; without it, only the whole report can be replaced. */
  readonly counts?: (moment: AccountMoment) => Counts
  readonly body: (moment: AccountMoment, counts: Counts, asked: AskedPair) => object
}

export const ASSOCIATIONS = {
  name: 'associations',
  path: '/associations/records/:from/:to',
  controlPath: '/associations/:from/:to',
  body: (moment, _counts, { from = '', to = '' }) => associationReport(moment, from, to),
} as const satisfies Report<string>

const RECORD_LIMITS = { '0-1': 15_000_000, '0-2': 15_000_000, '0-3': 15_000_000, '0-5': 15_000_000 }

/** Another report of the provider is a row here. */
const ROWS = [
  ASSOCIATIONS,
  {
    name: 'customProperties',
    path: '/custom-properties',
    counts: customProperties,
    body: sumAndTypes,
  },
  {
    name: 'associationLabels',
    path: '/associations/labels',
    counts: (moment) => rising(moment, 'labels', Object.fromEntries(REPORTED_PAIRS.map((pair) => [pair, 50]))),
    body: labelsByDirection,
  },
  {
    name: 'calculatedProperties',
    path: '/calculated-properties',
    counts: calculatedProperties,
    body: sumAndTypes,
  },
  {
    name: 'customObjectTypes',
    path: '/custom-object-types',
    scopes: CUSTOM_OBJECT_SCOPES,
    counts: customObjectTypes,
    body: (_moment, { overall }) => used(overall),
  },
  {
    name: 'pipelines',
    path: '/pipelines',
    counts: (moment) => withCustomTypes(moment, 'pipelines', { '0-3': 100, '0-5': 100, '0-123': 50 }, 100),
    body: typesByOrigin,
  },
  {
    name: 'records',
    path: '/records',
    counts: (moment) => withCustomTypes(moment, 'records', RECORD_LIMITS, 1_500_000),
    body: typesByOrigin,
  },
] as const satisfies readonly Report<string>[]

export type ReportName = (typeof ROWS)[number]['name']
export type ServedReport = Report<ReportName>

export const REPORT_TABLE: readonly ServedReport[] = ROWS

function customProperties(moment: AccountMoment): Counts {
  const { hubId } = moment
  const progress = progressOf(moment, 'properties')
  const count = (share: number, limit: number) => ({ usage: Math.round(share * limit), limit })
  const types = typesOfHub(hubId).map(({ objectTypeId }, place) => {
    const start = seeded(0.08, 0.42, hubId, `type ${place}`)
    // One standard and one custom type fill up with the account: the others have their own lives.
    const share = place === 0 ? blend(start, 0.985, progress) : place === 4 ? blend(start, 0.997, progress) : start
    return [objectTypeId, count(share, 1_000)] as const
  })
  const start = seeded(0.42, 0.68, hubId, 'overall')
  const share = blend(start, seeded(0.965, 0.992, hubId, 'peak'), progress)
  return { overall: count(share, 10_000), ...Object.fromEntries(types) }
}

function calculatedProperties(moment: AccountMoment): Counts {
  const limit = 200
  const usage = risingUsage(moment, { limit, what: 'calculated properties' })
  return { overall: { usage, limit }, ...sharedOut(usage, typeIdsOf(moment)) }
}

function customObjectTypes(moment: AccountMoment): Counts {
  const limit = 10
  const own = typeIdsOf(moment).filter(isCustom).length
  return { overall: { usage: own + Math.round((limit - own) * progressOf(moment, 'custom object types')), limit } }
}

/** Counts of the provider's own types, and the one that all types which the account made up share. */
function withCustomTypes(
  moment: AccountMoment,
  what: string,
  limits: Readonly<Record<string, number>>,
  customLimit: number,
): Counts {
  const counts = rising(moment, what, { ...limits, customObjects: customLimit })
  return { ...counts, ...sharedOut(counts.customObjects?.usage ?? 0, typeIdsOf(moment).filter(isCustom)) }
}

function rising(moment: AccountMoment, what: string, limits: Readonly<Record<string, number>>): Counts {
  const counts = Object.entries(limits).map(([key, limit]) => {
    return [key, { usage: risingUsage(moment, { limit, what: `${what} ${key}` }), limit }]
  })
  return Object.fromEntries(counts)
}

/** Shares of a sum, as even as possible, for object types that have no limit of their own. */
function sharedOut(sum: number, ids: readonly string[]): Counts {
  return Object.fromEntries(ids.map((id, place) => [id, { usage: Math.floor((sum + place) / ids.length) }]))
}

function typeIdsOf({ hubId }: AccountMoment): string[] {
  return typesOfHub(hubId).map(({ objectTypeId }) => objectTypeId)
}

function sumAndTypes({ hubId }: AccountMoment, counts: Counts): object {
  return { ...sum(counts.overall), byObjectType: byType(hubId, counts, () => true) }
}

function typesByOrigin({ hubId }: AccountMoment, counts: Counts): object {
  return {
    hubspotDefinedObjectTypes: byType(hubId, counts, (id) => !isCustom(id)),
    customObjectTypes: { ...sum(counts.customObjects), byObjectType: byType(hubId, counts, isCustom) },
  }
}

const LABELS = 'Billing contact,Decision maker,Champion,Reseller,Former employer,Partner,Approver,Site owner'.split(',')

/** A direction without a label isn't listed. */
function labelsByDirection({ hubId }: AccountMoment, counts: Counts): object {
  const listed = Object.entries(counts).filter(([, { usage }]) => usage > 0)
  return {
    results: listed.map(([pair, count]) => {
      const [from = '', to = ''] = pair.split('/')
      return {
        fromObjectType: objectType(hubId, from),
        toObjectType: objectType(hubId, to),
        allLabels: Array.from({ length: count.usage }, (_, place) => LABELS[place] ?? `Label ${place + 1}`),
        ...used(count),
      }
    }),
  }
}

function byType(hubId: number, counts: Counts, isWanted: (objectTypeId: string) => boolean): object[] {
  return Object.entries(counts)
    .filter(([key]) => /^\d/.test(key) && isWanted(key))
    .map(([id, count]) => ({
      ...objectType(hubId, id),
      ...(count.limit === undefined ? { usage: count.usage } : used(count)),
    }))
}

function used({ usage, limit = 0 }: Count = { usage: 0 }): { limit: number; usage: number; percentage: number } {
  return { limit, usage, percentage: percentage(usage, limit) }
}

function sum(count?: Count): object {
  const { limit, usage, percentage } = used(count)
  return { overallLimit: limit, overallUsage: usage, overallPercentage: percentage }
}
