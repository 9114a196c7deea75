import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { join, resolve } from 'node:path'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { untilWritten } from '../../redis/steps.ts'
import { openDataFolder, readOwnFile, writeOnce } from '../../runtime/data-folder.ts'
import { isSameText, Secret } from '../../runtime/secret.ts'
import type { Vault } from '../../tokens/vault.ts'
import { SCOPES, type Scope } from './scopes.ts'

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
  /** The stored seal. */
  seal: string
  /** True where one of our keys made the seal: a record without it opens nothing, and can be removed. */
  isOurs: boolean
}

/** The name of `http.adminToken`. */
export const OF_CONFIG = 'config'
/** The name of the one that the daemon makes where the config names none: its file's. */
export const OF_FILE = 'admin-token'
/** The name of the one that commands of this machine find in `daemon.json`. */
export const OF_MACHINE = 'this-machine'

/** One that may do everything. */
export function mainToken(name: string, token: Secret): AdminToken {
  return { name, hash: hashOf(token.reveal()), scopes: SCOPES }
}

/** The prefix is for people, and for scanners that search code for tokens. */
export function makeToken(): Secret {
  return new Secret(`plm_${randomBytes(32).toString('base64url')}`)
}

/** The fault of a name for a token, if it has one. */
export function faultOfName(name: string): string | undefined {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$/.test(name)) {
    return 'a name is 1 to 40 letters, digits, ., _ or -, and begins with a letter or digit'
  }
  return [OF_CONFIG, OF_FILE, OF_MACHINE].includes(name) ? `the name ${name} is taken by Plimsoll itself` : undefined
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Finds the token that was given. Every one is compared, each in constant time, so that the time shows nothing about it. */
export function ownerOf<T extends AdminToken>(given: string, tokens: readonly T[]): T | undefined {
  const hash = hashOf(given)
  let owner: T | undefined
  for (const token of tokens) if (timingSafeEqual(hash, token.hash)) owner = token
  return owner
}

/** The seal that makes a record ours: all of it that counts, under a key that Redis does not have. */
export function sealOf({ name, hash, scopes, createdAt }: SealedFacts, key: Buffer): string {
  const facts = JSON.stringify([name, hash.toString('base64url'), scopes, createdAt])
  return createHmac('sha256', key).update(facts).digest('base64url')
}

type SealedFacts = Pick<NamedToken, 'name' | 'hash' | 'scopes' | 'createdAt'>

/** The stored record of a token, beside its name. */
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
  // In one spelling only: the text that is compared with a stored record is the record.
  const isOurs = stored === encodeToken(token) && sealKeys.some((key) => isSameText(token.seal, sealOf(token, key)))
  return { ...token, isOurs }
}

function parse(stored: string): Record<string, unknown> {
  try {
    return JSON.parse(stored) ?? {}
  } catch {
    return {}
  }
}

/**
 * The named admin tokens in Redis, a row for each: their hashes, never the tokens. Each row is sealed with a key of the vault: an
 * intruder who can only write to Redis makes no token. No row depends on another, so that a Redis that lost its last write loses
 * that token only.
 */
export class AdminTokenStore {
  readonly #store: Store
  readonly #key: string
  readonly #vault: Pick<Vault, 'deriveEach'>

  constructor(store: Store, keys: Keys, vault: Pick<Vault, 'deriveEach'>) {
    this.#store = store
    this.#key = keys.adminTokens
    this.#vault = vault
  }

  /** By name; those too that are not ours. */
  async list(): Promise<NamedToken[]> {
    const sealKeys = this.#sealKeys()
    const records = Object.entries(await this.#store.hgetall(this.#key))
    return records.map(([name, text]) => decodeToken(name, text, sealKeys)).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The one moment at which the token itself is there. */
  async add(name: string, scopes: readonly Scope[], now: number): Promise<Secret | 'taken'> {
    const token = makeToken()
    // In the order in which they are read.
    const inOrder = SCOPES.filter((scope) => scopes.includes(scope))
    const facts = { name, hash: hashOf(token.reveal()), scopes: inOrder, createdAt: now }
    const record = encodeToken({ ...facts, lastUsedAt: null, seal: sealOf(facts, this.#sealKeys()[0]) })
    await this.#store.hsetnx(this.#key, name, record)
    // A command that was sent again, because its answer was lost, finds its own record.
    return (await this.#store.hget(this.#key, name)) === record ? token : 'taken'
  }

  async remove(name: string): Promise<'removed' | 'unknown'> {
    return (await this.#store.hdel(this.#key, name)) === 1 ? 'removed' : 'unknown'
  }

  async noteUsed(token: NamedToken, now: number): Promise<void> {
    await this.#replace(token, { ...token, lastUsedAt: now })
  }

  /** With the first key, before the others are taken away. One whose use was noted in between is read again. */
  async sealAnew(): Promise<void> {
    const [first] = this.#sealKeys()
    await untilWritten('the seals of admin tokens', async () => {
      const others = (await this.list()).filter((token) => token.isOurs && token.seal !== sealOf(token, first))
      for (const token of others) await this.#replace(token, { ...token, seal: sealOf(token, first) })
      return others.length === 0 ? 'sealed' : 'stale'
    })
  }

  /** Not one that is written meanwhile, or removed. */
  async #replace(before: NamedToken, after: NamedToken): Promise<void> {
    await this.#store.replaceField(this.#key, before.name, encodeToken(before), encodeToken(after))
  }

  #sealKeys(): [Buffer, ...Buffer[]] {
    return this.#vault.deriveEach('admin-tokens')
  }
}

/** The same least length as that of `http.adminToken`. */
const LEAST_LENGTH = 16

export interface TokenFile {
  token: Secret
  path: string
  /** Made just now. */
  made: boolean
  /** Others on this machine could read it until just now. */
  wasOpen: boolean
}

export function tokenFileIn(dataDir: string): string {
  return join(resolve(dataDir), OF_FILE)
}

/**
 * The admin token of an installation whose config names none: made at the first start, in the data folder, readable by this
 * user only. Throws where the file has no token.
 */
export function openTokenFile(dataDir: string): TokenFile {
  const path = tokenFileIn(dataDir)
  openDataFolder(dataDir)
  const made = writeOnce(path, () => `${makeToken().reveal()}\n`)
  const { text: written, wasOpen } = readOwnFile(path)
  const text = written.trim()
  if (text.length < LEAST_LENGTH || !/^[!-~]+$/.test(text)) {
    throw new Error(
      `${path} must hold one token of at least ${LEAST_LENGTH} characters: remove it, and the next start makes a new one`,
    )
  }
  return { token: new Secret(text), path, made, wasOpen }
}
