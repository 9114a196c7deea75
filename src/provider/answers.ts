import { isUtf8 } from 'node:buffer'
import { Secret } from '../runtime/secret.ts'
import { plainBody, TooLargeError } from './body.ts'
import { boundedScopes, boundedWords, MAX_ANSWER_BYTES } from './bounds.ts'
import {
  asObject,
  type JsonObject,
  optionalString,
  parseJson,
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
  /** Owner of the tokens, where the answer has it. */
  owner?: TokenOwner
}

export type TokenOwner = Pick<TokenMetadata, 'hubId' | 'scopes'>

/** Account and user of an access token (interface 2.2). */
export interface TokenMetadata {
  hubId: number
  hubDomain: string | undefined
  /** Data center of the account, `eu1`; not every answer has it. */
  hublet?: string
  user: string | undefined
  scopes: string[]
  /** Remaining life of the token, ms, in whole seconds; not every provider sends it. */
  lifeLeftMs: number | undefined
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

/** An answer that an earlier version could not read; undefined: neither can this one. */
export function readKeptAnswer(base64: Secret): TokenAnswer | undefined {
  try {
    const body = Buffer.from(base64.reveal(), 'base64')
    return readTokenAnswer(parseJson(plainBody(body, undefined, MAX_ANSWER_BYTES)))
  } catch (error) {
    if (error instanceof UnreadableError || error instanceof TooLargeError) return undefined
    throw error
  }
}

/** False for an answer without tokens, such as "Service unavailable", or JSON of a proxy: nothing is lost with it. */
export function mayHoldTokens(body: Buffer): boolean {
  if (!isUtf8(body) || body.includes(0)) return true
  const text = body.toString()
  try {
    const json: unknown = JSON.parse(text)
    if (typeof json === 'object' && json !== null) return Object.keys(json).some((name) => /token/i.test(name))
  } catch {
    // Cut off, or no JSON: only its letters tell.
  }
  return /token|[\w.~+/=-]{20}/i.test(text)
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
 * Lifetime of an access token. An answer with a new refresh token is never thrown away for an unreadable lifetime: the
 * refresh token before it may be dead already.
 */
function readLifetime(answer: JsonObject, bringsRefreshToken: boolean): number {
  try {
    const expiresIn = readCount(withNumber(answer, 'expires_in'), 'expires_in')
    if (expiresIn === 0) throw new UnreadableError('expires_in is the number 0: expected seconds that are left')
    return Math.min(expiresIn, LONGEST_LIFE_SECONDS)
  } catch (error) {
    if (bringsRefreshToken && error instanceof UnreadableError) return CAUTIOUS_LIFE_SECONDS
    throw error
  }
}

/** Some servers write the number as a text. */
function withNumber(answer: JsonObject, field: string): JsonObject {
  const value = answer[field]
  return typeof value === 'string' && /^\s*\d{1,10}\s*$/.test(value) ? { ...answer, [field]: Number(value) } : answer
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
    ...readHublet(answer.signed_access_token),
    user: optionalWords(answer, 'user'),
    scopes: boundedScopes(scopes),
    lifeLeftMs: readLifeLeft(answer.expires_in),
  }
}

/** The data center, only in the form `eu1`: it becomes part of a host name. */
function readHublet(signed: unknown): Pick<TokenMetadata, 'hublet'> {
  if (typeof signed !== 'object' || signed === null || !('hublet' in signed)) return {}
  const { hublet } = signed
  return typeof hublet === 'string' && /^[a-z]{2}\d{1,2}$/.test(hublet) ? { hublet } : {}
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
