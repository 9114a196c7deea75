import { createHash, timingSafeEqual } from 'node:crypto'

/** What an admin token may do: see pages and the API's facts, get access tokens, change something. */
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
}

/** Who asks without any token, where none is needed. */
export const THIS_MACHINE = 'this-machine'
/** The name of `http.adminToken`. */
export const OF_CONFIG = 'config'

/** What is wrong with a name for a token, if anything. */
export function faultOfName(name: string): string | undefined {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(name)) {
    return 'a name is 1 to 40 letters, digits, ., _ or -, and begins with a letter or digit'
  }
  return name === OF_CONFIG || name === THIS_MACHINE ? `the name ${name} is taken by Plimsoll itself` : undefined
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Whose token it is. Every one is compared, each in constant time, so that nothing tells which one it was. */
export function ownerOf<T extends AdminToken>(given: string, tokens: readonly T[]): T | undefined {
  const hash = hashOf(given)
  let owner: T | undefined
  for (const token of tokens) if (timingSafeEqual(hash, token.hash)) owner = token
  return owner
}

/** As it is stored, beside its name. */
export function encodeToken({ hash, scopes, createdAt, lastUsedAt }: NamedToken): string {
  return JSON.stringify({ hash: hash.toString('base64url'), scopes, createdAt, lastUsedAt })
}

/** One that can't be read opens nothing, but it is there: the server stays guarded, and it can be removed. */
export function decodeToken(name: string, stored: string): NamedToken {
  const { hash, scopes, createdAt, lastUsedAt } = parse(stored)
  const bytes = Buffer.from(typeof hash === 'string' ? hash : '', 'base64url')
  const isWhole = bytes.length === 32 && Array.isArray(scopes)
  return {
    name,
    hash: isWhole ? bytes : Buffer.alloc(32),
    scopes: isWhole ? SCOPES.filter((scope) => scopes.includes(scope)) : [],
    createdAt: Number(createdAt ?? 0),
    lastUsedAt: typeof lastUsedAt === 'number' ? lastUsedAt : null,
  }
}

function parse(stored: string): Record<string, unknown> {
  try {
    return JSON.parse(stored) ?? {}
  } catch {
    return {}
  }
}
