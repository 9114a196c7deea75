import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { Secret } from '../../runtime/secret.ts'
import { isSameToken } from './form-token.ts'

/** What an admin token may do: see pages and the API's facts, get access tokens, change data. */
export const SCOPES = ['read', 'tokens', 'write'] as const
export type Scope = (typeof SCOPES)[number]

export interface AdminToken {
  name: string
  /** SHA-256: a token of 32 random bytes needs no slower one. */
  hash: Buffer
  scopes: readonly Scope[]
}

/** One that was made by the command line. Times are ms, null = never. */
export interface NamedToken extends AdminToken {
  createdAt: number
  lastUsedAt: number | null
  /** As it is stored. */
  seal: string
  /** Whether one of our keys made the seal: what is not ours opens nothing, and can be removed. */
  isOurs: boolean
}

/** The name of `http.adminToken`. */
export const OF_CONFIG = 'config'
/** The name of the one that the daemon makes where the config names none: its file's. */
export const OF_FILE = 'admin-token'

/** One that may do everything. */
export function mainToken(name: string, token: Secret): AdminToken {
  return { name, hash: hashOf(token.reveal()), scopes: SCOPES }
}

/** The prefix is for people, and for what searches code for tokens that were left there. */
export function makeToken(): Secret {
  return new Secret(`plm_${randomBytes(32).toString('base64url')}`)
}

/** What is wrong with a name for a token, if anything. */
export function faultOfName(name: string): string | undefined {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(name)) {
    return 'a name is 1 to 40 letters, digits, ., _ or -, and begins with a letter or digit'
  }
  return name === OF_CONFIG || name === OF_FILE ? `the name ${name} is taken by Plimsoll itself` : undefined
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Whose token it is. Every one is compared, each in constant time, so that the time shows nothing about it. */
export function ownerOf<T extends AdminToken>(given: string, tokens: readonly T[]): T | undefined {
  const hash = hashOf(given)
  let owner: T | undefined
  for (const token of tokens) if (timingSafeEqual(hash, token.hash)) owner = token
  return owner
}

/** What makes a record ours: all of it that counts, under a key that Redis does not have. */
export function sealOf({ name, hash, scopes, createdAt }: SealedFacts, key: Buffer): string {
  const facts = JSON.stringify([name, hash.toString('base64url'), scopes, createdAt])
  return createHmac('sha256', key).update(facts).digest('base64url')
}

type SealedFacts = Pick<NamedToken, 'name' | 'hash' | 'scopes' | 'createdAt'>

/** As it is stored, beside its name. */
export function encodeToken({ hash, scopes, createdAt, lastUsedAt, seal }: Omit<NamedToken, 'isOurs'>): string {
  return JSON.stringify({ hash: hash.toString('base64url'), scopes, createdAt, lastUsedAt, seal })
}

/** With any content: it is listed, and can be removed. */
export function decodeToken(name: string, stored: string, sealKeys: readonly Buffer[]): NamedToken {
  const { hash, scopes, createdAt, lastUsedAt, seal } = parse(stored)
  const token = {
    name,
    hash: Buffer.from(typeof hash === 'string' ? hash : '', 'base64url'),
    scopes: SCOPES.filter((scope) => Array.isArray(scopes) && scopes.includes(scope)),
    createdAt: typeof createdAt === 'number' ? createdAt : 0,
    lastUsedAt: typeof lastUsedAt === 'number' ? lastUsedAt : null,
    seal: typeof seal === 'string' ? seal : '',
  }
  return { ...token, isOurs: sealKeys.some((key) => isSameToken(token.seal, sealOf(token, key))) }
}

function parse(stored: string): Record<string, unknown> {
  try {
    return JSON.parse(stored) ?? {}
  } catch {
    return {}
  }
}
