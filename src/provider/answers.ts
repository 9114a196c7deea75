import { Secret } from '../runtime/secret.ts'
import { boundedRecords, boundedScopes, boundedTypes, boundedWords } from './bounds.ts'
import {
  asObject,
  Gaps,
  type JsonObject,
  type ObjectId,
  optionalString,
  readCount,
  readNonEmptyString,
  UnreadableError,
} from './read.ts'

/** Answer of the token endpoint (interface 2.1), the same for both grants. */
export interface TokenAnswer {
  accessToken: Secret
  /** Absent: the one there is stays good. */
  refreshToken: Secret | undefined
  /** Life of the access token from the moment the request was sent, ms. */
  lifetimeMs: number
  /** Whose they are, where the answer has it. */
  owner?: TokenOwner
}

export type TokenOwner = Pick<TokenMetadata, 'hubId' | 'scopes'>

/** Whom an access token was made for (interface 2.2). */
export interface TokenMetadata {
  hubId: number
  hubDomain: string | undefined
  user: string | undefined
  scopes: string[]
  /** What is left of the token's life, ms, in whole seconds; not every provider sends it. */
  lifeLeftMs: number | undefined
}

/** A report of which a part could not be read; absent: all of it was. */
interface WithGaps {
  /** The first parts, each with what is wrong with it. */
  gaps?: string[]
}

/** Association limit report (interface 2.3) of one direction of a pair. Totals count all, lists hold samples. */
export interface AssociationReport extends WithGaps {
  /** 0: none, or it could not be read. */
  limit: number
  totalRecordsAtLimit: number
  totalRecordsNearLimit: number
  atLimit: { label?: string; objectId: ObjectId }[]
  nearLimit: { label?: string; objectId: ObjectId; usage: number; reportedPercentage?: number }[]
}

/** Custom property limit report (interface 2.4). */
export interface CustomPropertyReport extends WithGaps {
  /** 0: none, or it could not be read; so of each type. */
  overallLimit: number
  overallUsage: number
  /** As reported; its unit is not given, so nothing is decided by it. */
  reportedPercentage?: number
  byObjectType: {
    objectTypeId: string
    singularLabel: string
    pluralLabel: string
    limit: number
    usage: number
    reportedPercentage?: number
  }[]
  /** Some object types could not be read: one that it doesn't name may still be there. */
  typesUnread?: true
  /** Object types that it names beyond what is kept of one account; absent: none. */
  typesLeftOut?: number
}

/** An object type that has records at or near an association limit, as the companions of the limits endpoints name it. */
export interface BusyObjectType {
  objectTypeId: string
  hasRecordsAtLimit: boolean
  hasRecordsNearLimit: boolean
}

/** No access token is meant to live longer; believing it would mean never to refresh it. */
const LONGEST_LIFE_SECONDS = 30 * 24 * 3_600

export function readTokenAnswer(json: unknown): TokenAnswer {
  const answer = asObject(json, 'the answer')
  const refreshToken = optionalString(answer, 'refresh_token')
  return {
    accessToken: new Secret(readNonEmptyString(answer, 'access_token')),
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
    lifetimeMs: readLifetime(answer, refreshToken !== undefined) * 1000,
    ...readOwner(answer),
  }
}

/** Metadata has it as well: what is missing here, or odd, is no reason to refuse the tokens. */
function readOwner(answer: JsonObject): Pick<TokenAnswer, 'owner'> {
  // Most do not have it, and an error made for each was a twentieth of a refresh.
  if (answer.hub_id === undefined) return {}
  try {
    const { hubId, scopes } = readMetadata(answer)
    return { owner: { hubId, scopes } }
  } catch (error) {
    if (error instanceof UnreadableError) return {}
    throw error
  }
}

/** The assumed life of a token whose answer has none. */
const CAUTIOUS_LIFE_SECONDS = 300

/**
 * Where the answer brings a refresh token, the one before may be dead already: a lifetime that can't be read is no
 * reason to throw the new one away.
 */
function readLifetime(answer: JsonObject, bringsRefreshToken: boolean): number {
  try {
    const expiresIn = readCount(answer, 'expires_in')
    if (expiresIn === 0) throw new UnreadableError('expires_in is the number 0: expected seconds that are left')
    return Math.min(expiresIn, LONGEST_LIFE_SECONDS)
  } catch (error) {
    if (bringsRefreshToken && error instanceof UnreadableError) return CAUTIOUS_LIFE_SECONDS
    throw error
  }
}

export function readMetadata(json: unknown): TokenMetadata {
  const answer = asObject(json, 'the answer')
  const scopes = answer.scopes
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string')) {
    throw new UnreadableError('scopes is not what it should be: expected a list of strings')
  }
  const hubId = readCount(answer, 'hub_id')
  if (hubId === 0) throw new UnreadableError('hub_id is the number 0: expected an account')
  return {
    hubId,
    hubDomain: optionalWords(answer, 'hub_domain'),
    user: optionalWords(answer, 'user'),
    scopes: boundedScopes(scopes),
    lifeLeftMs: readLifeLeft(answer.expires_in),
  }
}

function optionalWords(answer: JsonObject, field: string): string | undefined {
  const words = optionalString(answer, field)
  return words === undefined ? undefined : boundedWords(words)
}

/** Only worth having if it is what it should be: nothing but a comparison of clocks hangs on it. */
function readLifeLeft(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  return Math.min(value, LONGEST_LIFE_SECONDS) * 1000
}

/** Only the totals must be there: of anything else that can't be read the rest does not suffer. */
export function readAssociationReport(json: unknown): AssociationReport {
  const answer = asObject(json, 'the answer')
  const totals = {
    atLimit: readCount(answer, 'totalRecordsAtLimit'),
    nearLimit: readCount(answer, 'totalRecordsNearLimit'),
  }
  const gaps = new Gaps()
  const limit = gaps.count(answer, 'limit') ?? 0
  const atLimit = gaps.list(answer, 'atLimitFromRecordSamples', (item, at) => readRecord(gaps, item, at))
  const nearLimit = gaps.list(answer, 'nearLimitFromRecordSamples', (item, at) => {
    const record = readRecord(gaps, item, at)
    const usage = gaps.count(item, 'usage', at)
    const percentage = reported(gaps.number(item, 'percentage', at))
    // Without its usage it would pass for one that is at its limit.
    return record === undefined || usage === undefined ? undefined : { ...record, usage, ...percentage }
  })
  return {
    limit,
    totalRecordsAtLimit: atLeast(atLimit, totals.atLimit),
    totalRecordsNearLimit: atLeast(nearLimit, totals.nearLimit),
    atLimit: boundedRecords(atLimit),
    nearLimit: boundedRecords(nearLimit),
    ...named(gaps),
  }
}

type Place = Parameters<Gaps['count']>[2]

function readRecord(gaps: Gaps, item: JsonObject, at: Place): AssociationReport['atLimit'][number] | undefined {
  const label = gaps.text(item, 'label', at)
  const objectId = gaps.id(item, 'objectId', at)
  if (objectId === undefined) return undefined
  return label === undefined ? { objectId } : { label: boundedWords(label), objectId }
}

function reported(percentage: number | undefined): { reportedPercentage?: number } {
  return percentage === undefined ? {} : { reportedPercentage: percentage }
}

function named({ found }: Gaps): WithGaps {
  return found.length === 0 ? {} : { gaps: found }
}

/** A total that is less than what is shown is wrong: the records are there. */
function atLeast(samples: readonly { objectId: ObjectId }[], total: number): number {
  return total >= samples.length ? total : Math.max(total, new Set(samples.map(({ objectId }) => objectId)).size)
}

/** As of associations: overall usage must be there. */
export function readCustomPropertyReport(json: unknown): CustomPropertyReport {
  const answer = asObject(json, 'the answer')
  const overallUsage = readCount(answer, 'overallUsage')
  const gaps = new Gaps()
  const overallLimit = gaps.count(answer, 'overallLimit') ?? 0
  const percentage = reported(gaps.number(answer, 'overallPercentage'))
  const listed = Array.isArray(answer.byObjectType) ? answer.byObjectType.length : -1
  const types = gaps.list(answer, 'byObjectType', (item, at) => readType(gaps, item, at))
  const { kept, leftOut } = boundedTypes(types)
  return {
    ...{ overallLimit, overallUsage, ...percentage, byObjectType: kept },
    ...(types.length === listed ? {} : { typesUnread: true }),
    ...(leftOut === 0 ? {} : { typesLeftOut: leftOut }),
    ...named(gaps),
  }
}

function readType(gaps: Gaps, item: JsonObject, at: Place): CustomPropertyReport['byObjectType'][number] | undefined {
  const objectTypeId = gaps.nonEmptyText(item, 'objectTypeId', at)
  const singularLabel = gaps.text(item, 'singularLabel', at)
  const pluralLabel = gaps.text(item, 'pluralLabel', at)
  const limit = gaps.count(item, 'limit', at) ?? 0
  const usage = gaps.count(item, 'usage', at)
  const percentage = reported(gaps.number(item, 'percentage', at))
  if (objectTypeId === undefined || usage === undefined) return undefined
  return {
    objectTypeId,
    singularLabel: boundedWords(singularLabel ?? objectTypeId),
    pluralLabel: boundedWords(pluralLabel ?? objectTypeId),
    ...{ limit, usage, ...percentage },
  }
}

/** Of companions all must be there: a type that is left out would pass for one without records near a limit. */
export function readBusyObjectTypes(json: unknown): BusyObjectType[] {
  const gaps = new Gaps()
  const types = gaps.list(asObject(json, 'the answer'), 'results', (item, at) => {
    const objectTypeId = gaps.nonEmptyText(item, 'objectTypeId', at)
    const hasRecordsAtLimit = gaps.boolean(item, 'hasRecordsAtLimit', at)
    const hasRecordsNearLimit = gaps.boolean(item, 'hasRecordsNearLimit', at)
    if (objectTypeId === undefined || hasRecordsAtLimit === undefined || hasRecordsNearLimit === undefined) return
    return { objectTypeId, hasRecordsAtLimit, hasRecordsNearLimit }
  })
  const [first] = gaps.found
  if (first !== undefined) throw new UnreadableError(first)
  return types
}
