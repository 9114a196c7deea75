import { Secret } from '../runtime/secret.ts'
import {
  asObject,
  type JsonObject,
  optionalString,
  readBoolean,
  readCount,
  readList,
  readNonEmptyString,
  readNumber,
  readString,
  UnreadableError,
} from './read.ts'

/** Answer of the token endpoint (interface 2.1), the same for both grants. */
export interface TokenAnswer {
  accessToken: Secret
  /** Absent: the one there is stays good. */
  refreshToken: Secret | undefined
  /** Life of the access token from the moment the request was sent, ms. */
  lifetimeMs: number
}

/** Whom an access token was made for (interface 2.2). */
export interface TokenMetadata {
  hubId: number
  hubDomain: string | undefined
  user: string | undefined
  scopes: string[]
  /** What is left of the token's life, ms, in whole seconds; not every provider tells. */
  lifeLeftMs: number | undefined
}

/** Association limit report (interface 2.3) of one direction of a pair. Totals count all, lists hold samples. */
export interface AssociationReport {
  limit: number
  totalRecordsAtLimit: number
  totalRecordsNearLimit: number
  atLimit: { label: string; objectId: number }[]
  nearLimit: { label: string; objectId: number; usage: number; reportedPercentage: number }[]
}

/** Custom property limit report (interface 2.4). */
export interface CustomPropertyReport {
  overallLimit: number
  overallUsage: number
  /** As reported; its unit is not given, so nothing is decided by it. */
  reportedPercentage: number
  byObjectType: {
    objectTypeId: string
    singularLabel: string
    pluralLabel: string
    limit: number
    usage: number
    reportedPercentage: number
  }[]
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
  }
}

/** The life of a token of which nobody can say how long it lives. */
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
    hubDomain: optionalString(answer, 'hub_domain'),
    user: optionalString(answer, 'user'),
    scopes,
    lifeLeftMs: readLifeLeft(answer.expires_in),
  }
}

/** Only worth having if it is what it should be: nothing but a comparison of clocks hangs on it. */
function readLifeLeft(value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) return undefined
  return Math.min(value, LONGEST_LIFE_SECONDS) * 1000
}

export function readAssociationReport(json: unknown): AssociationReport {
  const answer = asObject(json, 'the answer')
  const samples = {
    atLimit: readList(answer, 'atLimitFromRecordSamples', (item, at) => ({
      label: readString(item, 'label', at),
      objectId: readCount(item, 'objectId', at),
    })),
    nearLimit: readList(answer, 'nearLimitFromRecordSamples', (item, at) => ({
      label: readString(item, 'label', at),
      objectId: readCount(item, 'objectId', at),
      usage: readCount(item, 'usage', at),
      reportedPercentage: readNumber(item, 'percentage', at),
    })),
  }
  return {
    limit: readCount(answer, 'limit'),
    totalRecordsAtLimit: atLeast(samples.atLimit, readCount(answer, 'totalRecordsAtLimit')),
    totalRecordsNearLimit: atLeast(samples.nearLimit, readCount(answer, 'totalRecordsNearLimit')),
    ...samples,
  }
}

/** A total that is less than what is shown is wrong: the records are there. */
function atLeast(samples: readonly { objectId: number }[], total: number): number {
  return total >= samples.length ? total : Math.max(total, new Set(samples.map(({ objectId }) => objectId)).size)
}

export function readCustomPropertyReport(json: unknown): CustomPropertyReport {
  const answer = asObject(json, 'the answer')
  return {
    overallLimit: readCount(answer, 'overallLimit'),
    overallUsage: readCount(answer, 'overallUsage'),
    reportedPercentage: readNumber(answer, 'overallPercentage'),
    byObjectType: readList(answer, 'byObjectType', (item, at) => ({
      objectTypeId: readNonEmptyString(item, 'objectTypeId', at),
      singularLabel: readString(item, 'singularLabel', at),
      pluralLabel: readString(item, 'pluralLabel', at),
      limit: readCount(item, 'limit', at),
      usage: readCount(item, 'usage', at),
      reportedPercentage: readNumber(item, 'percentage', at),
    })),
  }
}

export function readBusyObjectTypes(json: unknown): BusyObjectType[] {
  return readList(asObject(json, 'the answer'), 'results', (item, at) => ({
    objectTypeId: readNonEmptyString(item, 'objectTypeId', at),
    hasRecordsAtLimit: readBoolean(item, 'hasRecordsAtLimit', at),
    hasRecordsNearLimit: readBoolean(item, 'hasRecordsNearLimit', at),
  }))
}
